# SPDX-License-Identifier: GPL-2.0
# Picture of "make report-ioend": data is the table, picture the file to write.
set terminal pngcairo size 1000,1000 font "sans,11" noenhanced
set output picture
set datafile separator ","
set logscale x 2
set xrange [1:1048576]
set xtics (1, 64, 512, 4096, 32768, 524288)
# Both panels as wide as each other.
set lmargin at screen 0.1
set rmargin at screen 0.63
set grid
set key at screen 0.99, graph 1
set multiplot layout 2,1 title "fs.iomap.ioend_batch_folios"

# Column of the row if it is of a layout and kind, else not a number.
of(layout, kind, n) = strcol(1) eq "patched" && strcol(2) eq layout \
	&& strcol(3) eq kind ? column(n) : NaN
# The base kernel has one value, the default of the patched one.
base(layout, kind, n) = strcol(1) eq "base" && strcol(2) eq layout \
	&& strcol(3) eq kind ? column(n) : NaN

set title "fio, 4 KiB writes, drives with 20 us latency"
set ylabel "MiB/s"
set yrange [0:*]
plot for [l in "contiguous scattered"] for [k in "written unwritten"] \
	data using 4:(of(l, k, 6)) with linespoints title l.", ".k, \
	for [l in "contiguous scattered"] \
	data using (4096):(base(l, "unwritten", 6)) with points pointsize 2 \
		title "base, ".l.", unwritten"

set title "longest time that completion keeps the CPU from others"
set ylabel "instructions"
set xlabel "folios"
set logscale y
set yrange [1000:1e8]
plot data using 4:(of("contiguous", "written", 11)) with linespoints \
		title "written, interrupt, memory contiguous", \
	data using 4:(of("scattered", "written", 11)) with linespoints \
		title "written, interrupt, scattered", \
	data using 4:(of("contiguous", "unwritten", 14)) with linespoints \
		title "unwritten, worker, merged chain", \
	data using (4096):(base("contiguous", "unwritten", 14)) with points \
		pointsize 2 title "base, worker, merged chain", \
	2e6 with lines dashtype 2 title "bound in a worker"
unset multiplot
