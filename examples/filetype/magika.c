/* magika.c - magika's preprocessing and its rule from scores to a label. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "magika.h"

static int number(json_t *config, const char *key, int *out)
{
	json_t *v = json_object_get(config, key);
	if (json_is_integer(v)) *out = (int)json_integer_value(v);
	return json_is_integer(v);
}

static int read_settings(struct magika *m, json_t *c)
{
	m->medium = json_number_value(json_object_get(c, "medium_confidence_threshold"));
	return number(c, "beg_size", &m->beg) && number(c, "end_size", &m->end) && number(c, "block_size", &m->block) && number(c, "padding_token", &m->padding) &&
		number(c, "min_file_size_for_dl", &m->smallest) && m->beg > 0 && m->end > 0 && m->block > m->beg && m->block > m->end && m->smallest > 0 && m->smallest <= m->beg;
}

static int read_labels(struct magika *m, json_t *c, json_t *knowledge)
{
	json_t *space = json_object_get(c, "target_labels_space"), *least = json_object_get(c, "thresholds"), *renamed = json_object_get(c, "overwrite_map");
	m->n_labels = (int)json_array_size(space);
	size_t n = (size_t)m->n_labels;
	m->labels = calloc(n + 1, sizeof *m->labels);
	m->renamed = calloc(n + 1, sizeof *m->renamed);
	m->least = calloc(n + 1, sizeof *m->least);
	m->is_text = calloc(n + 1, 1);
	if (!n || !m->labels || !m->renamed || !m->least || !m->is_text) return 0;
	for (size_t i = 0; i < n; i++) {
		const char *label = json_string_value(json_array_get(space, i));
		if (!label) return 0;
		const char *shown = json_string_value(json_object_get(renamed, label));
		json_t *own = json_object_get(least, label);
		m->labels[i] = label;
		m->renamed[i] = shown ? shown : label;
		m->least[i] = own ? json_number_value(own) : m->medium;
		m->is_text[i] = json_is_true(json_object_get(json_object_get(knowledge, m->renamed[i]), "is_text"));
	}
	return 1;
}

int magika_open(struct magika *m, const char *folder, char *why, size_t cap)
{
	char path[4200];
	json_error_t e;
	memset(m, 0, sizeof *m);
	snprintf(path, sizeof path, "%s/config.min.json", folder);
	json_t *config = m->config = json_load_file(path, 0, &e);
	if (!config) { snprintf(why, cap, "%s: %s", path, e.text); return 0; }
	snprintf(path, sizeof path, "%s/../../config/content_types_kb.min.json", folder);
	json_t *knowledge = m->knowledge = json_load_file(path, 0, &e);
	if (!knowledge) { snprintf(why, cap, "%s: %s", path, e.text); return 0; }
	if (read_settings(m, config) && read_labels(m, config, knowledge)) return 1;
	snprintf(why, cap, "%s/config.min.json: not the settings of a model of version 3", folder);
	return 0;
}

void magika_close(struct magika *m)
{
	json_decref(m->config);
	json_decref(m->knowledge);
	free(m->labels);
	free(m->renamed);
	free(m->least);
	free(m->is_text);
}

static int is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* whether bytes are UTF-8 in the strict sense: shortest forms, no surrogates, nothing past U+10FFFF */
static int is_utf8(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		unsigned char c = p[i++];
		int more = c < 0x80 ? 0 : c >= 0xc2 && c <= 0xdf ? 1 : (c & 0xf0) == 0xe0 ? 2 : c >= 0xf0 && c <= 0xf4 ? 3 : -1;
		if (more < 0 || (size_t)more > n - i) return 0;
		if (more == 2 && ((c == 0xe0 && p[i] < 0xa0) || (c == 0xed && p[i] > 0x9f))) return 0;
		if (more == 3 && ((c == 0xf0 && p[i] < 0x90) || (c == 0xf4 && p[i] > 0x8f))) return 0;
		for (; more; more--, i++)
			if ((p[i] & 0xc0) != 0x80) return 0;
	}
	return 1;
}

/* first and last block of a file; 0 with words when it cannot be read */
static int read_ends(const struct magika *m, const char *path, unsigned char *beg, unsigned char *end, size_t *n, size_t *size, char *why, size_t cap)
{
	FILE *f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END)) { snprintf(why, cap, "%s", strerror(errno)); if (f) fclose(f); return 0; }
	long total = ftell(f);
	if (total < 0 || total == LONG_MAX) { snprintf(why, cap, "not a file with an end"); fclose(f); return 0; }
	*size = (size_t)total;
	*n = *size < (size_t)m->block ? *size : (size_t)m->block;
	int ok = !fseek(f, 0, SEEK_SET) && fread(beg, 1, *n, f) == *n && !fseek(f, (long)(*size - *n), SEEK_SET) && fread(end, 1, *n, f) == *n;
	if (!ok) snprintf(why, cap, "%s", errno ? strerror(errno) : "it became shorter while it was read");
	fclose(f);
	return ok;
}

static const char *few_bytes(const unsigned char *p, size_t n) { return is_utf8(p, n) ? "txt" : "unknown"; }

int magika_features(const struct magika *m, const char *path, int32_t *tokens, const char **label, char *why, size_t cap)
{
	size_t n, size, skip = 0, keep, block = (size_t)m->block, n_beg = (size_t)m->beg, n_end = (size_t)m->end;
	unsigned char *beg = malloc(2 * block), *end = beg + block;
	errno = 0;
	if (!beg) { snprintf(why, cap, "no memory"); return -1; }
	int ok = read_ends(m, path, beg, end, &n, &size, why, cap);
	if (!ok || size < (size_t)m->smallest) {
		if (ok) *label = size ? few_bytes(beg, size) : "empty";
		free(beg);
		return ok ? 0 : -1;
	}
	while (skip < n && is_space(beg[skip])) skip++;
	for (size_t i = 0; i < n_beg; i++) tokens[i] = skip + i < n ? beg[skip + i] : m->padding;
	for (keep = n; keep && is_space(end[keep - 1]);) keep--;
	for (size_t i = 0; i < n_end; i++) tokens[n_beg + i] = keep + i >= n_end ? end[keep + i - n_end] : m->padding;
	int enough = tokens[m->smallest - 1] != m->padding;
	if (!enough) *label = few_bytes(beg, n);
	free(beg);
	return enough;
}

const char *magika_label(const struct magika *m, const float *scores, int *best)
{
	*best = 0;
	for (int i = 1; i < m->n_labels; i++)
		if (scores[i] > scores[*best]) *best = i;
	if ((double)scores[*best] >= m->least[*best]) return m->renamed[*best];
	return m->is_text[*best] ? "txt" : "unknown";
}
