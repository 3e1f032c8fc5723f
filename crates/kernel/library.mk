# SPDX-License-Identifier: MIT
# Makes library.so of the kernel in TREE with the compiler CC, in the current folder, which has the shim as `shim` and
# says in identity.h what the library is built of.
#
# kbuild/ is what the tree's own makefile makes: a configuration and generated headers. object/ is ours. Nothing in
# the tree is written.

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG := $(findstring clang,$(shell $(CC) --version))
S := $(CURDIR)/shim
K := $(CURDIR)/kbuild
O := object

# Files of the shim that see the kernel's headers, those that see none but ours and the system's, and files of the tree.
KERNEL := $(patsubst $S/%.c,%,$(shell grep -lE '\#include (<linux/|"kernel/sched/|"rq.h")' $S/*.c))
PLAIN := $(filter-out $(KERNEL),$(patsubst $S/%.c,%,$(wildcard $S/*.c)))
LIBRARY := lib/find_bit lib/bitmap lib/cpumask lib/rbtree lib/plist lib/bsearch lib/llist lib/string \
	lib/timerqueue lib/random32 lib/math/div64 lib/ctype kernel/time/time
LIBRARY := $(foreach name,$(LIBRARY),$(if $(wildcard $(TREE)/$(name).c),$(name)))

KERNEL_OBJECTS := $(KERNEL:%=$O/%.o) $(foreach name,$(LIBRARY),$O/tree_$(notdir $(name)).o)
PLAIN_OBJECTS := $(PLAIN:%=$O/%.o)

# The order of the kernel's own build: our headers stand before those that they replace.
INCLUDE := -I$S/include -I$(TREE)/arch/x86/include -I$K/arch/x86/include/generated -I$(TREE)/include -I$K/include \
	-I$(TREE)/arch/x86/include/uapi -I$K/arch/x86/include/generated/uapi -I$(TREE)/include/uapi \
	-I$K/include/generated/uapi -include $S/prefix.h -include $(TREE)/include/linux/compiler-version.h \
	-include $(TREE)/include/linux/kconfig.h -include $(TREE)/include/linux/compiler_types.h \
	-I$(TREE) -I$(TREE)/kernel/sched -I$S -I$(CURDIR)

# Names of files that a message has are those of the tree and of the shim, wherever these lie.
COMMON := -ffile-prefix-map=$(TREE)/= -ffile-prefix-map=$S/=shim/ -ffile-prefix-map=$(CURDIR)=.
# For both sides: position-independent, nothing visible that does not say so, a section for each function so that
# the linker drops what is not reached, and nothing that the process around would have to provide.
COMMON += -std=gnu11 -O2 -g1 -Wall -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -fno-common \
	-fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none
COMMON += $(if $(CLANG),-mstack-alignment=16,-mpreferred-stack-boundary=4)

# The kernel's own dialect. A function that is not declared would become a stub and answer 0: that is an error.
KERNEL_FLAGS := $(COMMON) -nostdinc -D__KERNEL__ -fms-extensions -fshort-wchar -funsigned-char \
	-fno-strict-aliasing -fno-strict-overflow -fno-delete-null-pointer-checks -mno-sse -mno-sse2 -mno-mmx \
	-mno-3dnow -mno-avx -mno-80387 -mno-fp-ret-in-387 -m64 -march=x86-64 \
	-Wno-unused -Wno-pointer-sign -Wno-format-security -Wno-address-of-packed-member -Wno-frame-address \
	-Wno-sign-compare -Wno-main -Wno-psabi $(if $(CLANG),-Wno-gnu,-Wno-maybe-uninitialized) \
	-Werror=implicit-function-declaration -Werror=incompatible-pointer-types -Werror=int-conversion
# What the preprocessor cannot see: whether a runqueue estimates idle times for wakeups; whether a timer says that it
# is queued, and no longer its state; whether a task is picked apart from putting the one that ran; whether schedule()
# arms the slice timer at its end; whether a runqueue knows of which class its next task is.
KERNEL_FLAGS += $(if $(shell grep -s wake_avg_idle $(TREE)/kernel/sched/sched.h),-DSIMSCHED_HAS_WAKE_IDLE)
KERNEL_FLAGS += $(if $(shell grep -s is_queued $(TREE)/include/linux/hrtimer_types.h),-DSIMSCHED_TIMER_IS_QUEUED)
KERNEL_FLAGS += $(if $(shell grep -s "sched_class.*next_class;" $(TREE)/kernel/sched/sched.h),-DSIMSCHED_HAS_NEXT_CLASS)
KERNEL_FLAGS += $(if $(shell grep -s "newidle_stamp;" $(TREE)/include/linux/sched/topology.h),-DSIMSCHED_HAS_NEWIDLE_STAMP)
KERNEL_FLAGS += $(if $(shell grep -s "hrtick_schedule_exit" $(TREE)/kernel/sched/core.c),-DSIMSCHED_HAS_HRTICK_EXIT)
KERNEL_FLAGS += $(if $(shell grep -s "extern.*pick_task_fair" $(TREE)/kernel/sched/sched.h),-DSIMSCHED_HAS_PICK_TASK)
PLAIN_FLAGS := $(COMMON) -fno-builtin -I$S
module = '-DKBUILD_MODFILE="simsched/$1"' '-DKBUILD_BASENAME="$1"' '-DKBUILD_MODNAME="$1"' -D__KBUILD_MODNAME=kmod_$1

.DELETE_ON_ERROR:
.PHONY: prepared
prepared: $K/prepared

# What a configuration is made of; a patch that brings an option of its own changes one of these.
KCONFIG := $(wildcard $(TREE)/Makefile $(TREE)/init/Kconfig $(TREE)/kernel/Kconfig.* $(TREE)/arch/x86/Kconfig)
MODEL := $(if $(shell grep -s 'config PREEMPT_LAZY' $(TREE)/kernel/Kconfig.preempt),lazy,preempt)

# The preparation may fail at objtool, which comes after the headers and is not needed; what is needed is tested.
$K/prepared: $S/config/common.config $S/config/$(MODEL).config $(KCONFIG)
	mkdir -p $K
	cat $S/config/common.config $S/config/$(MODEL).config >$K/fragment.config
	KCONFIG_ALLCONFIG=$K/fragment.config $(MAKE) -s -C $(TREE) O=$K ARCH=x86_64 CC='$(CC)' allnoconfig >$K/prepare.log 2>&1 \
		|| { cat $K/prepare.log >&2; exit 1; }
	-$(MAKE) -s -C $(TREE) O=$K ARCH=x86_64 CC='$(CC)' prepare >>$K/prepare.log 2>&1
	test -f $K/include/generated/asm-offsets.h || { cat $K/prepare.log >&2; exit 1; }
	test -f $K/include/generated/utsrelease.h || \
		$(MAKE) -s -C $(TREE) O=$K ARCH=x86_64 CC='$(CC)' include/generated/utsrelease.h >>$K/prepare.log 2>&1 \
		|| { cat $K/prepare.log >&2; exit 1; }
	touch $@

$O:
	mkdir -p $@

$(KERNEL:%=$O/%.o): $O/%.o: $S/%.c $K/prepared $S/library.mk | $O
	$(CC) $(INCLUDE) $(KERNEL_FLAGS) $(call module,$*) -MMD -MP -c $< -o $@

define library_rule
$O/tree_$(notdir $1).o: $(TREE)/$1.c $K/prepared $S/library.mk | $O
	$$(CC) $$(INCLUDE) $$(KERNEL_FLAGS) $$(call module,$(notdir $1)) -MMD -MP -c $$< -o $$@
endef
$(foreach name,$(LIBRARY),$(eval $(call library_rule,$(name))))

$(PLAIN_OBJECTS): $O/%.o: $S/%.c $S/library.mk | $O
	$(CC) $(PLAIN_FLAGS) -MMD -MP -c $< -o $@

# What the kernel's files need and nobody has: each such name becomes a function that counts its calls.
stubs.txt: $(KERNEL_OBJECTS) $(PLAIN_OBJECTS)
	ld -r -o $O/kernel.o $(KERNEL_OBJECTS)
	{ nm -g --defined-only $(PLAIN_OBJECTS) | awk 'NF == 3 { print $$3 }'; \
	  printf '%s\n' _GLOBAL_OFFSET_TABLE_ __per_cpu_start __per_cpu_end __sched_class_highest __sched_class_lowest; \
	} | sort -u >$O/defined.txt
	nm -u $O/kernel.o | awk '$$1 == "U" { print $$2 }' | sort -u | comm -23 - $O/defined.txt >$@

$O/stub_table.o: stubs.txt $S/stubs.awk
	awk -f $S/stubs.awk stubs.txt >$O/stub_table.s
	$(CC) -c $O/stub_table.s -o $@

library.so: $(KERNEL_OBJECTS) $(PLAIN_OBJECTS) $O/stub_table.o $S/library.lds
	$(CC) -shared -nostartfiles -o $@ $(KERNEL_OBJECTS) $(PLAIN_OBJECTS) $O/stub_table.o \
		-Wl,-Bsymbolic,-z,defs,-z,noexecstack,--gc-sections,-T,$S/library.lds -lc

-include $(wildcard $O/*.d)
