/*
 * The subcommands, one file each. Each gets its own name as argv[0] and its
 * options after it, as main() does (optind is 1), has --help, and returns an
 * exit code of tools/exitcode.h. Before any of them runs, main() has made the
 * process safe for secrets: no core dump, OpenSSL's secure heap.
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <stdbool.h>

#define FROND_VERSION "0.1"

int cmd_init(int argc, char **argv);
int cmd_mount(int argc, char **argv);
int cmd_umount(int argc, char **argv);
int cmd_fsck(int argc, char **argv);
int cmd_seal(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_passwd(int argc, char **argv);
int cmd_slot(int argc, char **argv);
int cmd_recover(int argc, char **argv);

/* Without a mount. */
int cmd_ls(int argc, char **argv);
int cmd_cat(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_tree(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_rm(int argc, char **argv);
int cmd_mv(int argc, char **argv);
int cmd_mkdir(int argc, char **argv);
int cmd_path(int argc, char **argv);

/* Whether the program was called by a name under which mount(8) calls it, and
 * what it does then: argv as main() got it. */
bool is_mount_helper(const char *argv0);
int cmd_mount_helper(int argc, char **argv);

/* Set up OpenSSL's secure heap anew, in a child process: memory that is locked
 * does not stay so over a fork. Nothing may be allocated there yet. */
void command_secure_memory(void);

#endif
