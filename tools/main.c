#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "fs/mount/opener.h"
#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "init", cmd_init, "make an encrypted volume" },
	{ "mount", cmd_mount, "show a volume in the clear at a mount point" },
	{ "umount", cmd_umount, "end a mount" },
	{ "fsck", cmd_fsck, "check a volume and name all damage" },
	{ "seal", cmd_seal, "write a signed manifest of a volume" },
	{ "verify", cmd_verify, "compare a volume or a copy with a manifest" },
	{ "info", cmd_info, "show what a volume is" },
	{ "passwd", cmd_passwd, "change a passphrase" },
	{ "slot", cmd_slot, "list, add and remove passphrases and key files" },
	{ "recover", cmd_recover, "make a new frondfs.conf from the recovery key" },
	{ "ls", cmd_ls, "list a directory, without a mount" },
	{ "tree", cmd_tree, "draw the tree, without a mount" },
	{ "stat", cmd_stat, "show what is known of an entry, without a mount" },
	{ "cat", cmd_cat, "write files to standard output, without a mount" },
	{ "export", cmd_export, "copy out of a volume, without a mount" },
	{ "import", cmd_import, "copy into a volume, without a mount" },
	{ "mkdir", cmd_mkdir, "make directories, without a mount" },
	{ "mv", cmd_mv, "rename and move, without a mount" },
	{ "rm", cmd_rm, "remove, without a mount" },
	{ "path", cmd_path, "find the encrypted file of a path, or its path" },
};

enum {
	COMMANDS = sizeof(commands) / sizeof(commands[0]),
	SECURE_HEAP = 256 * 1024, /* bytes */
	SECURE_HEAP_MIN = 16,     /* smallest block */
};

static void print_help(FILE *to)
{
	fputs("Usage: frondfs COMMAND [options] ...\n"
	      "\n"
	      "An encrypted filesystem: a volume is a directory of encrypted files,\n"
	      "which a mount shows in the clear.\n"
	      "\n", to);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].help);
	fputs("\n"
	      "`frondfs COMMAND --help` explains a command; frondfs(1) has the exit\n"
	      "codes.\n", to);
}

/* Insertions, deletions and changes that make b of a; names are short. */
static size_t distance(const char *a, const char *b)
{
	size_t row[32], length = strlen(b);

	if (length >= 31)
		return length;
	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 1; *a; a++, i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t best = corner + (b[j - 1] != *a);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[length];
}

static int unknown_command(const char *name)
{
	const char *nearest = NULL;
	size_t least = strlen(name) / 2 + 1;

	for (size_t i = 0; i < COMMANDS; i++) {
		size_t d = distance(commands[i].name, name);

		if (d < least) {
			least = d;
			nearest = commands[i].name;
		}
	}
	error_say("there is no command '%s'", name);
	if (nearest)
		hint_say("did you mean `frondfs %s`?", nearest);
	else
		hint_say("`frondfs --help` lists the commands");
	return EXIT_USAGE;
}

void command_secure_memory(void)
{
	CRYPTO_secure_malloc_done();
	if (CRYPTO_secure_malloc_init(SECURE_HEAP, SECURE_HEAP_MIN) != 1)
		verbose_say("the memory for secrets could not be locked: see "
		            "`ulimit -l`");
}

/* Before any secret: no core dump, no debugger of other processes of the
 * user, and locked memory that stays out of dumps and of the swap. */
static void harden(void)
{
	static const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	command_secure_memory();
}

/* -v is known only when a subcommand has read its options, but what is said
 * before that wants to know it too. */
static void look_for_verbose(char **argv)
{
	while (*++argv && strcmp(*argv, "--"))
		if (!strcmp(*argv, "-v") || !strcmp(*argv, "--verbose"))
			message_verbose = true;
}

/*
 * Started without standard input, output or error, the program would get their
 * numbers for files of its own: messages would go into the volume, and the
 * daemon's end of a pipe would be lost. Files that can neither be read nor
 * written as these should be give the errors of those that are not there.
 */
static bool hold_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY
		                                         : O_RDONLY) != fd)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	if (!hold_standard_files())
		return EXIT_OPERATION;
	if (argc == 2 && !strcmp(argv[1], OPENER_OPTION))
		return opener_serve();
	if (argc > 0 && is_mount_helper(argv[0])) {
		look_for_verbose(argv);
		harden();
		return cmd_mount_helper(argc, argv);
	}
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		print_help(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("frondfs " FROND_VERSION);
		return EXIT_OK;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		look_for_verbose(argv);
		harden();
		return commands[i].run(argc - 1, argv + 1);
	}
	/* `frondfs DIR MOUNTPOINT -o ...` is how mount.fuse3(8) calls a program
	 * of FUSE; DIR is no word that could be a command. */
	if (argc > 2 && strchr(argv[1], '/')) {
		look_for_verbose(argv);
		harden();
		return cmd_mount(argc, argv);
	}
	return unknown_command(argv[1]);
}
