/*
 * The manual says what the program does: the options of each command, the exit
 * codes, fsck's classes of findings; and what the README names is there.
 */
#include <ctype.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/check.h"
#include "run.h"

static const char *const commands[] = {
	"init", "mount", "umount", "fsck", "seal", "verify", "info", "passwd", "slot", "recover",
	"ls", "tree", "stat", "cat", "export", "import", "mkdir", "mv", "rm",
	"path",
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]), WORDS = 80 };

/* A set of words. */
struct words {
	size_t count;
	char word[WORDS][40];
};

static bool has(const struct words *w, const char *word)
{
	for (size_t i = 0; i < w->count; i++)
		if (!strcmp(w->word[i], word))
			return true;
	return false;
}

static void add(struct words *w, const char *word, size_t length)
{
	char text[40];

	snprintf(text, sizeof(text), "%.*s", (int)length, word);
	if (length && !has(w, text) && w->count < WORDS)
		strcpy(w->word[w->count++], text);
}

/* Says which words of a are not in b. */
static bool within(const struct words *a, const char *a_name,
                   const struct words *b, const char *b_name)
{
	bool all = true;

	for (size_t i = 0; i < a->count; i++)
		if (!has(b, a->word[i])) {
			printf("'%s' is in %s but not in %s\n", a->word[i],
			       a_name, b_name);
			all = false;
		}
	return all;
}

/* A file of the sources, as a string to be freed; "" if it is not there. */
static char *source(const char *name)
{
	char path[4096];
	char *text = calloc(1, 1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), FROND_SOURCE_DIR "/%s", name);
	f = fopen(path, "r");
	if (!f || !text || !fread(text, 1, (1 << 20) - 1, f))
		printf("%s cannot be read\n", path);
	if (f)
		fclose(f);
	return text;
}

static char *page_of(const char *command, char name[64])
{
	snprintf(name, 64, "doc/frondfs%s%s.1", *command ? "-" : "", command);
	return source(name);
}

static size_t option_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '-')
		n++;
	return n;
}

/* The long options that a --help describes: of each line that begins with an
 * option. */
static void options_of_help(struct words *w, const char *text)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *p = line + strspn(line, "\n ");

		line = p;
		if (*p == '-' && p[1] != '-' && p[1] && !strncmp(p + 2, ", ", 2))
			p += 4;
		if (!strncmp(p, "--", 2))
			add(w, p + 2, option_length(p + 2));
	}
}

/* Those that a page describes: of its .It lines. */
static void options_of_page(struct words *w, const char *text)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *end, *p;

		line += *line == '\n';
		if (strncmp(line, ".It ", 4))
			continue;
		end = line + strcspn(line, "\n");
		for (p = line; (p = strstr(p, "Fl -")) && p < end; p += 4)
			add(w, p + 4, option_length(p + 4));
	}
}

TEST options_are_in_the_manual(const char *command)
{
	struct words help = { .count = 0 }, page = { .count = 0 };
	char name[64], *text = page_of(command, name);
	static struct run r;

	run(&r, &(struct run_how){ 0 }, command, "--help", NULL);
	ASSERT_EQ_FMT(0, r.code, "%d");
	options_of_help(&help, r.out);
	options_of_page(&page, text);
	free(text);
	/* At least --help and another one, or the reading went wrong. */
	ASSERT(help.count >= 2);
	ASSERT(has(&help, "help"));
	/* Not worth a line in a page with few options. */
	if (!has(&page, "help"))
		add(&page, "help", 4);
	ASSERT(within(&help, "--help", &page, name));
	ASSERT(within(&page, name, &help, "--help"));
	PASS();
}

TEST help_begins_alike(const char *command)
{
	static struct run r;
	char usage[64];

	run(&r, &(struct run_how){ 0 }, command, "--help", NULL);
	snprintf(usage, sizeof(usage), "Usage: frondfs %s ", command);
	ASSERT_EQ_FMT(0, strncmp(usage, r.out, strlen(usage)), "%d");
	for (const char *line = r.out; *line;) {
		size_t length = strcspn(line, "\n");

		if (length > 80)
			printf("%.*s\n", (int)length, line);
		ASSERT(length <= 80);
		line += length + (line[length] == '\n');
	}
	PASS();
}

/* Each option that --help names is taken: getopt does not know others. */
TEST options_are_taken(const char *command)
{
	struct words help = { .count = 0 };
	static struct run r;
	char option[64];

	run(&r, &(struct run_how){ 0 }, command, "--help", NULL);
	options_of_help(&help, r.out);
	add(&help, "no-such-option", 14);
	for (size_t i = 0; i < help.count; i++) {
		bool none = i + 1 == help.count;

		snprintf(option, sizeof(option), "--%s", help.word[i]);
		if (!strcmp(command, "slot"))
			run(&r, &(struct run_how){ 0 }, command, "add", option,
			    NULL);
		else
			run(&r, &(struct run_how){ 0 }, command, option, NULL);
		if (none != !!strstr(r.err, "unrecognized option"))
			printf("%s %s: %s", command, option, r.err);
		ASSERT_EQ(none, !!strstr(r.err, "unrecognized option"));
	}
	PASS();
}

TEST commands_are_in_the_manual(void)
{
	char name[64], line[64], *text = page_of("", name);
	static struct run r;
	size_t listed = 0;

	run(&r, &(struct run_how){ 0 }, "--help", NULL);
	for (const char *p = r.out; p && *p; p = strchr(p, '\n')) {
		p += *p == '\n';
		listed += !strncmp(p, "  ", 2);
	}
	ASSERT_EQ_FMT((size_t)COMMANDS, listed, "%zu");
	for (size_t i = 0; i < COMMANDS; i++) {
		snprintf(line, sizeof(line), "\n  %s ", commands[i]);
		ASSERT(strstr(r.out, line));
		snprintf(line, sizeof(line), "\n.It Cm %s\n", commands[i]);
		ASSERT(strstr(text, line));
		snprintf(line, sizeof(line), "\n.Xr frondfs-%s 1", commands[i]);
		ASSERT(strstr(text, line));
	}
	free(text);
	PASS();
}

/* The numbers in tools/exitcode.h and those of the list in frondfs.1. */
TEST exit_codes_are_in_the_manual(void)
{
	struct words header = { .count = 0 }, page = { .count = 0 };
	char name[64], *text = source("tools/exitcode.h"), *p, *end;

	for (p = text; (p = strstr(p, "\tEXIT_")); p += 6) {
		char *number = strstr(p, " = ");

		ASSERT(number);
		add(&header, number + 3, option_length(number + 3));
	}
	free(text);
	text = page_of("", name);
	p = strstr(text, "\n.Sh EXIT STATUS\n");
	ASSERT(p);
	end = strstr(p, "\n.El");
	ASSERT(end);
	*end = 0;
	while ((p = strstr(p, "\n.It "))) {
		p += 5;
		add(&page, p, option_length(p));
	}
	free(text);
	ASSERT(header.count > 15);
	ASSERT(within(&header, "tools/exitcode.h", &page, name));
	ASSERT(within(&page, name, &header, "tools/exitcode.h"));
	PASS();
}

TEST findings_are_in_the_manual(void)
{
	char name[64], line[64], *text = page_of("fsck", name), *p = text;
	int listed = 0;

	for (enum check_class c = 0; c < CHECK_CLASSES; c++) {
		snprintf(line, sizeof(line), "\n.It Sy %s\n",
		         check_class_name(c));
		if (!strstr(text, line))
			printf("'%s' is not in %s\n", check_class_name(c), name);
		ASSERT(strstr(text, line));
	}
	for (; (p = strstr(p, "\n.It Sy ")); p++)
		listed++;
	ASSERT_EQ_FMT((int)CHECK_CLASSES, listed, "%d");
	free(text);
	PASS();
}

/* Whether a word of a text is a path of this tree, by its first part. */
static bool is_tree_path(const char *word, size_t length)
{
	static const char *const tops[] = {
		"tools/", "tests/", "doc/", "cipher/", "fs/", ".ci/",
	};

	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++)
		if (length >= strlen(tops[i]) &&
		    !strncmp(word, tops[i], strlen(tops[i])))
			return true;
	return false;
}

TEST what_the_readme_names_is_there(void)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
	char *text = source("README.md"), path[4096];
	int found = 0, missing = 0;

	for (const char *p = text; *p;) {
		size_t n = strspn(p, characters);
		size_t length = n;

		while (length && p[length - 1] == '.')
			length--; /* the end of a sentence */
		if (is_tree_path(p, length)) {
			snprintf(path, sizeof(path), FROND_SOURCE_DIR "/%.*s",
			         (int)length, p);
			found++;
			if (access(path, F_OK)) {
				printf("%.*s is not there\n", (int)length, p);
				missing++;
			}
		}
		p += n ? n : 1;
	}
	ASSERT(strstr(text, "\n    tools/quickstart"));
	ASSERT(strstr(text, "\n    tools/check"));
	ASSERT_FALSE(access(FROND_SOURCE_DIR "/tools/quickstart", X_OK));
	ASSERT_FALSE(access(FROND_SOURCE_DIR "/tools/check", X_OK));
	ASSERT_FALSE(access(FROND_SOURCE_DIR "/tools/setup", X_OK));
	free(text);
	ASSERT(found > 20);
	ASSERT_EQ_FMT(0, missing, "%d");
	PASS();
}

TEST pages_are_well_formed(void)
{
	if (run_shell("command -v mandoc >/dev/null"))
		SKIPm("mandoc is not installed");
	ASSERT_EQ(0, run_shell("mandoc -T lint -W warning "
	                       FROND_SOURCE_DIR "/doc/*.1"));
	/* It can fail. */
	run_put_text("bad.1", ".Dd today\n.Dt\n.Sh NAME\n.Xx\n");
	ASSERT(run_shell("mandoc -T lint -W warning bad.1 >/dev/null"));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	for (size_t i = 0; i < COMMANDS; i++) {
		RUN_TESTp(options_are_in_the_manual, commands[i]);
		RUN_TESTp(help_begins_alike, commands[i]);
		RUN_TESTp(options_are_taken, commands[i]);
	}
	RUN_TEST(commands_are_in_the_manual);
	RUN_TEST(exit_codes_are_in_the_manual);
	RUN_TEST(findings_are_in_the_manual);
	RUN_TEST(what_the_readme_names_is_there);
	RUN_TEST(pages_are_well_formed);
	run_clean();
	GREATEST_MAIN_END();
}
