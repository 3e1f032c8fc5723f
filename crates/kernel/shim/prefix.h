/* SPDX-License-Identifier: MIT */
/* Comes before the first header of each file that is compiled with the kernel's headers: every name is hidden unless it says otherwise. */
#pragma GCC visibility push(hidden)
