/* elf.c - what a shared object says of itself, read with no code of it run.  Every read is checked against the file's size.
 * Source: System V ABI, ELF-64 object file format. */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include "host/loader.h"

struct file { const unsigned char *at; uint64_t size; };

static int inside(const struct file *f, uint64_t offset, uint64_t size) { return offset <= f->size && size <= f->size - offset; }

static int get(const struct file *f, uint64_t offset, void *out, uint64_t size)
{
	if (!inside(f, offset, size)) return 0;
	memcpy(out, f->at + offset, size);
	return 1;
}

static unsigned our_machine(void)
{
#if defined __x86_64__
	return EM_X86_64;
#elif defined __aarch64__
	return EM_AARCH64;
#elif defined __riscv
	return EM_RISCV;
#else
	return EM_NONE;
#endif
}

/* notes stand one after the other: three words, name, description, each padded to 4 bytes */
static void read_notes(const struct file *f, uint64_t offset, uint64_t size, struct tn_elf_facts *out)
{
	uint64_t end = offset + size;
	while (size >= 12 && offset + 12 <= end) {
		uint32_t w[3];
		if (!get(f, offset, w, 12)) return;
		uint64_t desc = offset + 12 + (((uint64_t)w[0] + 3) & ~UINT64_C(3)), next = desc + (((uint64_t)w[1] + 3) & ~UINT64_C(3));
		if (next > end) return;
		if (w[0] == sizeof TN_NOTE_NAME && w[2] == 1 && !memcmp(f->at + offset + 12, TN_NOTE_NAME, sizeof TN_NOTE_NAME) &&
			w[1] == sizeof(struct tn_elf_note) - offsetof(struct tn_elf_note, major)) {
			out->has_note = get(f, offset, &out->note, sizeof out->note);
			out->note.id[sizeof out->note.id - 1] = 0;
		}
		if (w[0] == 4 && w[2] == NT_GNU_BUILD_ID && !memcmp(f->at + offset + 12, "GNU", 4)) {
			out->build_id_size = w[1] < sizeof out->build_id ? w[1] : (uint32_t)sizeof out->build_id;
			memcpy(out->build_id, f->at + desc, out->build_id_size);
		}
		offset = next;
	}
}

static void read_dynamic(const struct file *f, uint64_t offset, uint64_t size, struct tn_elf_facts *out)
{
	for (uint64_t at = offset; at + sizeof(Elf64_Dyn) <= offset + size; at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn d;
		if (!get(f, at, &d, sizeof d) || d.d_tag == DT_NULL) return;
		if (d.d_tag == DT_TEXTREL || (d.d_tag == DT_FLAGS && (d.d_un.d_val & DF_TEXTREL))) out->text_relocations = 1;
	}
}

static int is_linker_symbol(const char *name)
{
	static const char *const names[] = { "_init", "_fini", "_end", "_edata", "__bss_start", "_ITM_registerTMCloneTable" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i])) return 1;
	return 0;
}

static void count_export(const struct file *f, const Elf64_Shdr *strings, const Elf64_Sym *s, struct tn_elf_facts *out)
{
	unsigned bind = ELF64_ST_BIND(s->st_info), visible = ELF64_ST_VISIBILITY(s->st_other);
	if (s->st_shndx == SHN_UNDEF || (bind != STB_GLOBAL && bind != STB_WEAK && bind != STB_GNU_UNIQUE)) return;
	if (visible == STV_HIDDEN || visible == STV_INTERNAL || ELF64_ST_TYPE(s->st_info) == STT_FILE || s->st_shndx == SHN_ABS) return;
	if (s->st_name >= strings->sh_size) { out->fault = "symbol names are out of range"; return; }
	const char *name = (const char *)f->at + strings->sh_offset + s->st_name;
	if (!memchr(name, 0, strings->sh_size - s->st_name)) { out->fault = "symbol names are not terminated"; return; }
	if (is_linker_symbol(name)) return;
	out->n_exports++;
	if (!strcmp(name, "tn_plugin_query_0")) out->exports_query = 1;
	else snprintf(out->other_export, sizeof out->other_export, "%s", name);
}

static void read_symbols(const struct file *f, const Elf64_Ehdr *h, struct tn_elf_facts *out)
{
	Elf64_Shdr sec, strings;
	if (!inside(f, h->e_shoff, (uint64_t)h->e_shnum * sizeof sec)) { out->fault = "cut short: section headers are missing"; return; }
	for (unsigned i = 0; i < h->e_shnum; i++) {
		get(f, h->e_shoff + (uint64_t)i * sizeof sec, &sec, sizeof sec);
		if (sec.sh_type != SHT_DYNSYM) continue;
		if (!get(f, h->e_shoff + (uint64_t)sec.sh_link * sizeof sec, &strings, sizeof strings) || !inside(f, strings.sh_offset, strings.sh_size) ||
			!inside(f, sec.sh_offset, sec.sh_size)) { out->fault = "cut short: the symbol table is missing"; return; }
		for (uint64_t k = 0; k < sec.sh_size / sizeof(Elf64_Sym); k++) {
			Elf64_Sym s;
			get(f, sec.sh_offset + k * sizeof s, &s, sizeof s);
			count_export(f, &strings, &s, out);
		}
		return;
	}
	out->fault = "no dynamic symbol table";
}

static void read_segments(const struct file *f, const Elf64_Ehdr *h, struct tn_elf_facts *out)
{
	for (unsigned i = 0; i < h->e_phnum; i++) {
		Elf64_Phdr p;
		if (!get(f, h->e_phoff + (uint64_t)i * sizeof p, &p, sizeof p)) { out->fault = "cut short: program headers are missing"; return; }
		if ((p.p_type == PT_LOAD || p.p_type == PT_NOTE || p.p_type == PT_DYNAMIC) && !inside(f, p.p_offset, p.p_filesz)) {
			out->fault = "cut short: a segment is past the end of the file";
			continue;                              /* the note may still say whose file it is */
		}
		if (p.p_type == PT_NOTE) read_notes(f, p.p_offset, p.p_filesz, out);
		if (p.p_type == PT_DYNAMIC) read_dynamic(f, p.p_offset, p.p_filesz, out);
		if (p.p_type == PT_GNU_STACK && (p.p_flags & PF_X)) out->exec_stack = 1;
	}
}

void tn_elf_inspect(const void *bytes, uint64_t size, struct tn_elf_facts *out)
{
	struct file f = { bytes, size };
	Elf64_Ehdr h;
	memset(out, 0, sizeof *out);
	if (size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG)) { out->fault = "not an ELF file"; return; }
	if (!get(&f, 0, &h, sizeof h)) { out->fault = "cut short: the ELF header is incomplete"; return; }
	out->is_elf = 1;
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_type != ET_DYN) { out->fault = "not a 64-bit little-endian shared object"; return; }
	out->right_machine = h.e_machine == our_machine();
	if (!out->right_machine) { out->fault = "made for another processor architecture"; return; }
	if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_shentsize != sizeof(Elf64_Shdr)) { out->fault = "header sizes are not those of ELF-64"; return; }
	read_segments(&f, &h, out);
	if (!out->fault) read_symbols(&f, &h, out);
}
