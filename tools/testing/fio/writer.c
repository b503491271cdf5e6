// SPDX-License-Identifier: GPL-2.0
/*
 * Guest program of the cost gates: overwrite a laid-out, uncached file with
 * write() and then write it back, and print how long each of the two took.
 *
 * The guest runs under "-icount shift=0", where a nanosecond is an executed
 * instruction, so the times printed are instruction counts.  Next to nothing
 * may run in user space: the loops below are a handful of instructions for
 * each system call, and buffers are touched before a clock is read.
 *
 * The figures go to standard output, one line for each round:
 *
 *	cost: name=N bs=B bytes=B write_ns=N writeback_ns=N
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_CHUNK	(1024 * 1024)
#define MAX_GROUPS	8

enum exit_code {
	EXIT_IO = 1,
	EXIT_USAGE = 2,
};

struct job {
	const char *name;
	const char *path;
	uint64_t chunk;		/* bytes of one write() */
	uint64_t size;		/* bytes of one file */
	unsigned int files;	/* 0: path itself, else path.0 ... */
	unsigned int stride;	/* write every stride-th chunk only */
	unsigned int rounds;
	bool fsync_each;
	bool random;		/* each chunk once, in random order */
	bool cached;		/* read the file before it is written */
	char *groups[MAX_GROUPS];
	unsigned int nr_groups;
	uint64_t layout;	/* bytes of one direct write, 0: measure */
	bool fragment;		/* layout: alternate with a second file */
};

struct result {
	uint64_t bytes;
	uint64_t write_ns;
	uint64_t writeback_ns;
};

static char buffer[MAX_CHUNK] __attribute__((aligned(4096)));

static void die(enum exit_code code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("writer: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	exit(code);
}

static void die_io(const char *what, const char *path)
{
	die(EXIT_IO, "%s %s: %s", what, path, strerror(errno));
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd < 0)
		die_io("cannot open", path);
	return fd;
}

static void write_string(const char *path, const char *text)
{
	int fd = open_file(path, O_WRONLY);

	if (write(fd, text, strlen(text)) < 0)
		die_io("cannot write", path);
	close(fd);
}

/* Dirty pages survive drop_caches: everything has to be clean first. */
static void drop_page_cache(void)
{
	sync();
	write_string("/proc/sys/vm/drop_caches", "1");
}

static const char *file_name(const struct job *job, unsigned int i)
{
	static char name[4096];

	if (!job->files)
		return job->path;
	snprintf(name, sizeof(name), "%s.%u", job->path, i);
	return name;
}

static void write_at(int fd, const char *path, uint64_t len, uint64_t pos)
{
	ssize_t done = pwrite(fd, buffer, len, pos);

	if (done < 0)
		die_io("cannot write", path);
	if ((uint64_t)done != len)
		die(EXIT_IO, "short write to %s at %llu", path,
		    (unsigned long long)pos);
}

/*
 * A fragmented file: each direct write to it is followed by one to a second
 * file, which takes the blocks that come next.
 */
static void layout_file(const struct job *job, const char *path)
{
	int fd = open_file(path, O_WRONLY | O_CREAT | O_DIRECT);
	char other[4096];
	int hole = -1;
	uint64_t pos;

	if (job->fragment) {
		snprintf(other, sizeof(other), "%s.between", path);
		hole = open_file(other, O_WRONLY | O_CREAT | O_DIRECT);
	}
	for (pos = 0; pos < job->size; pos += job->layout) {
		write_at(fd, path, job->layout, pos);
		if (hole >= 0)
			write_at(hole, other, job->layout, pos);
	}
	if (fsync(fd) < 0)
		die_io("cannot fsync", path);
	close(fd);
	if (hole >= 0)
		close(hole);
}

static void layout(const struct job *job)
{
	unsigned int i = 0;

	do
		layout_file(job, file_name(job, i));
	while (++i < job->files);
	sync();
}

static uint64_t overwrite(const struct job *job, int fd, const char *path,
		unsigned int first, unsigned int stride)
{
	uint64_t step = job->chunk * stride;
	uint64_t pos = job->chunk * first;
	uint64_t bytes = 0;

	for (; pos + job->chunk <= job->size; pos += step) {
		write_at(fd, path, job->chunk, pos);
		if (job->fsync_each && fsync(fd) < 0)
			die_io("cannot fsync", path);
		bytes += job->chunk;
	}
	return bytes;
}

/*
 * A permutation of the numbers below a power of two: each step can be undone.
 */
static uint64_t shuffled(uint64_t i, unsigned int bits)
{
	const uint64_t mask = (1ULL << bits) - 1;
	unsigned int round;

	for (round = 0; round < 3; round++) {
		i = i * 0x9e3779b97f4a7c15ULL & mask;
		i ^= i >> (bits / 2 + 1);
	}
	return i;
}

/* Half of the chunks, so that memory held beyond them shows. */
static uint64_t overwrite_random(const struct job *job, int fd)
{
	uint64_t chunks = job->size / job->chunk;
	unsigned int bits = 63 - __builtin_clzll(chunks);
	uint64_t bytes = 0;
	uint64_t i;

	for (i = 0; i < 1ULL << bits >> 1; i++) {
		write_at(fd, job->path, job->chunk,
			 shuffled(i, bits) * job->chunk);
		bytes += job->chunk;
	}
	return bytes;
}

static uint64_t overwrite_files(const struct job *job)
{
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; i < job->files; i++) {
		const char *path = file_name(job, i);
		int fd = open_file(path, O_WRONLY);

		bytes += overwrite(job, fd, path, 0, job->stride);
		close(fd);
	}
	return bytes;
}

/*
 * Neighbouring chunks belong to different groups: pass i runs in group i and
 * writes the chunks whose number is i modulo the number of groups.
 */
static uint64_t overwrite_groups(const struct job *job, int fd)
{
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; i < job->nr_groups; i++) {
		write_string(job->groups[i], "0");
		bytes += overwrite(job, fd, job->path, i, job->nr_groups);
	}
	return bytes;
}

static uint64_t write_phase(const struct job *job, int fd)
{
	if (job->files)
		return overwrite_files(job);
	if (job->nr_groups)
		return overwrite_groups(job, fd);
	if (job->random)
		return overwrite_random(job, fd);
	return overwrite(job, fd, job->path, 0, job->stride);
}

/* syncfs() of a block device would sync the file system its node lives on. */
static void writeback_phase(const struct job *job, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		die_io("cannot stat", job->path);
	if ((S_ISBLK(st.st_mode) ? fsync(fd) : syncfs(fd)) < 0)
		die_io("cannot sync", job->path);
}

static void read_file(const struct job *job)
{
	int fd = open_file(job->path, O_RDONLY);
	static char text[MAX_CHUNK];
	ssize_t len;

	while ((len = read(fd, text, sizeof(text))) > 0)
		;
	if (len < 0)
		die_io("cannot read", job->path);
	close(fd);
}

static struct result measure(const struct job *job)
{
	int fd = open_file(file_name(job, 0), O_WRONLY);
	uint64_t start, middle, end;
	struct result res;

	drop_page_cache();
	if (job->cached)
		read_file(job);
	start = now_ns();
	res.bytes = write_phase(job, fd);
	middle = now_ns();
	writeback_phase(job, fd);
	end = now_ns();
	close(fd);

	res.write_ns = middle - start;
	res.writeback_ns = end - middle;
	return res;
}

static uint64_t parse_bytes(const char *text)
{
	static const char units[] = "kmg";
	uint64_t value;
	const char *unit;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || !value)
		die(EXIT_USAGE, "not a size: %s", text);
	if (!*end)
		return value;
	unit = strchr(units, *end);
	if (!unit || end[1])
		die(EXIT_USAGE, "not a size: %s", text);
	return value << (10 * (unit - units + 1));
}

static void parse_groups(struct job *job, char *list)
{
	char *group;

	while ((group = strsep(&list, ","))) {
		if (job->nr_groups == MAX_GROUPS)
			die(EXIT_USAGE, "more than %d groups", MAX_GROUPS);
		job->groups[job->nr_groups++] = group;
	}
}

static void parse_option(struct job *job, int opt)
{
	switch (opt) {
	case 'b':
		job->chunk = parse_bytes(optarg);
		break;
	case 's':
		job->size = parse_bytes(optarg);
		break;
	case 'n':
		job->files = parse_bytes(optarg);
		break;
	case 'p':
		job->stride = parse_bytes(optarg);
		break;
	case 'r':
		job->rounds = parse_bytes(optarg);
		break;
	case 'g':
		parse_groups(job, optarg);
		break;
	case 't':
		job->name = optarg;
		break;
	case 'y':
		job->fsync_each = true;
		break;
	case 'R':
		job->random = true;
		break;
	case 'c':
		job->cached = true;
		break;
	case 'L':
		job->layout = parse_bytes(optarg);
		break;
	case 'F':
		job->fragment = true;
		break;
	default:
		exit(EXIT_USAGE);
	}
}

static void check_job(const struct job *job)
{
	if (job->chunk > MAX_CHUNK || job->layout > MAX_CHUNK)
		die(EXIT_USAGE, "a write has at most %d bytes", MAX_CHUNK);
	if (job->chunk > job->size)
		die(EXIT_USAGE, "the file is smaller than one write");
	if (job->layout && job->size % job->layout)
		die(EXIT_USAGE, "the size is no multiple of the layout chunk");
	if (job->files && (job->nr_groups || job->random || job->cached))
		die(EXIT_USAGE, "-g, -R and -c take a single file");
	if (job->random && job->size < 2 * job->chunk)
		die(EXIT_USAGE, "-R takes a file of two writes or more");
}

int main(int argc, char **argv)
{
	struct job job = {
		.name = "write", .chunk = 4096, .size = 1 << 30,
		.stride = 1, .rounds = 1,
	};
	unsigned int i;
	int opt;

	while ((opt = getopt(argc, argv, "b:s:n:p:r:g:t:yRcL:F")) != -1)
		parse_option(&job, opt);
	if (optind + 1 != argc)
		die(EXIT_USAGE, "give exactly one path");
	job.path = argv[optind];
	check_job(&job);
	memset(buffer, 0x5a, sizeof(buffer));

	if (job.layout) {
		layout(&job);
		return 0;
	}
	for (i = 0; i < job.rounds; i++) {
		struct result res = measure(&job);

		printf("cost: name=%s bs=%llu bytes=%llu write_ns=%llu writeback_ns=%llu\n",
		       job.name, (unsigned long long)job.chunk,
		       (unsigned long long)res.bytes,
		       (unsigned long long)res.write_ns,
		       (unsigned long long)res.writeback_ns);
		fflush(stdout);
	}
	return 0;
}
