// SPDX-License-Identifier: GPL-2.0-only
/*
 * QEMU plugin that counts the instructions of a guest's kernel, exactly.
 *
 * Counts from each execution of the instruction at address on= to the next one of
 * that at off=, and writes "ADDRESS INSTRUCTIONS EXECUTIONS" of every translated
 * block to out= at the end.  Debian's QEMU comes without qemu-plugin.h, so what
 * is used of version 1 of the interface is declared here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
		void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb,
		int op, void *ptr, uint64_t imm);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
		void (*cb)(unsigned int vcpu, void *data), int flags, void *data);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
extern void qemu_plugin_register_atexit_cb(uint64_t id,
		void (*cb)(uint64_t id, void *data), void *data);

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc,
		char **argv);

#define BLOCKS (1u << 20)
#define KERNEL 0xffffffff80000000ull

/* One translation of a block; code that is translated again gets another. */
static struct block {
	uint64_t address;
	uint64_t instructions;
	uint64_t count;		/* of executions, ever */
	uint64_t before;	/* of them, before counting began last */
	uint64_t counted;
} blocks[BLOCKS];

static unsigned int nr_blocks;
static uint64_t on_address, off_address;
static const char *out_path;
static bool counting;

static void begin(unsigned int vcpu, void *data)
{
	unsigned int i;

	if (counting)
		return;
	counting = true;
	for (i = 0; i < nr_blocks; i++)
		blocks[i].before = blocks[i].count;
}

static void end(unsigned int vcpu, void *data)
{
	unsigned int i;

	if (!counting)
		return;
	counting = false;
	for (i = 0; i < nr_blocks; i++)
		blocks[i].counted += blocks[i].count - blocks[i].before;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	struct block *block = &blocks[nr_blocks];

	if (address == on_address)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, begin, 0, NULL);
	if (address == off_address)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, end, 0, NULL);
	if (address < KERNEL || nr_blocks == BLOCKS)
		return;
	block->address = address;
	block->instructions = qemu_plugin_tb_n_insns(tb);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &block->count, 1);
	nr_blocks++;
}

static void write_counts(uint64_t id, void *data)
{
	FILE *out = fopen(out_path, "w");
	unsigned int i;

	if (!out)
		return;
	for (i = 0; i < nr_blocks; i++) {
		if (blocks[i].counted)
			fprintf(out, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n",
				blocks[i].address, blocks[i].instructions,
				blocks[i].counted);
	}
	fclose(out);
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "on=", 3))
			on_address = strtoull(argv[i] + 3, NULL, 16);
		else if (!strncmp(argv[i], "off=", 4))
			off_address = strtoull(argv[i] + 4, NULL, 16);
		else if (!strncmp(argv[i], "out=", 4))
			out_path = strdup(argv[i] + 4);
	}
	if (!on_address || !off_address || !out_path)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, write_counts, NULL);
	return 0;
}
