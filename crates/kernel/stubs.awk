# SPDX-License-Identifier: MIT
# Writes, in assembly, one function for each name of its input, which calls simsched_stub() with its number, and the
# table of the names.
{
	name[NR - 1] = $1
	printf ".section .text.stub.%s,\"ax\",@progbits\n", $1
	printf ".globl %s\n.hidden %s\n.type %s,@function\n%s:\n\tmovl $%d,%%edi\n\tjmp simsched_stub\n", $1, $1, $1, $1, NR - 1
}
END {
	print ".section .rodata.simsched_stub_count,\"a\",@progbits"
	print ".globl simsched_stub_count\n.hidden simsched_stub_count\nsimsched_stub_count:\n\t.long " NR
	print ".section .rodata.str,\"aMS\",@progbits,1"
	for (i = 0; i < NR; i++)
		printf ".Lname%d:\n\t.asciz \"%s\"\n", i, name[i]
	print ".section .data.rel.ro.simsched_stub_names,\"aw\",@progbits\n\t.balign 8"
	print ".globl simsched_stub_names\n.hidden simsched_stub_names\nsimsched_stub_names:"
	for (i = 0; i < NR; i++)
		printf "\t.quad .Lname%d\n", i
	print ".section .note.GNU-stack,\"\",@progbits"
}
