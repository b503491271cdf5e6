/* SPDX-License-Identifier: GPL-2.0+ */
#include "../../../../include/linux/xarray_marks.h"
