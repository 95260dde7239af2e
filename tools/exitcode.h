/*
 * Exit codes of the frondfs command: one table for every subcommand, part of
 * the manual (frondfs(1), EXIT STATUS) and stable.
 *
 * Those of fsck(8) keep their meaning, and 4, 8 and 64 may stand together
 * (added up) after `frondfs fsck`. 17 to 31 say why nothing was begun,
 * but for 30.
 */
#ifndef TOOLS_EXITCODE_H
#define TOOLS_EXITCODE_H

enum exitcode {
	EXIT_OK = 0,
	EXIT_FSCK_ERRORS = 4,      /* fsck: errors were found and are still there */
	EXIT_OPERATION = 8,        /* an operation failed (I/O error, disk full, ...) */
	EXIT_USAGE = 16,           /* wrong option or argument */
	EXIT_WRONG_KEY = 17,       /* wrong passphrase, key file or recovery key */
	EXIT_NO_VOLUME = 18,       /* no frondfs.conf there */
	EXIT_CONFIG_DAMAGED = 19,  /* frondfs.conf is damaged or was tampered with */
	EXIT_NEWER = 20,           /* made by a later version of the format */
	EXIT_FEATURE = 21,         /* needs a feature that this version has not */
	EXIT_NO_MEMORY = 22,       /* too little memory for the key derivation */
	EXIT_NO_PASSPHRASE = 23,   /* none given and no terminal to ask on; or one
	                            * that cannot be used: empty, too long, the two
	                            * entries differ */
	EXIT_IN_USE = 24,          /* the volume is mounted or being checked */
	EXIT_NOT_EMPTY = 25,       /* the directory is not empty */
	EXIT_MOUNTPOINT = 26,      /* the mount point cannot be used */
	EXIT_NO_FUSE = 27,         /* no FUSE here, or no permission to use it */
	EXIT_PERMISSION = 28,      /* no permission for the volume's files */
	EXIT_KEY_TYPO = 29,        /* the recovery key was mistyped; the place is told */
	EXIT_INCOMPLETE = 30,      /* verify: entries are missing, cut or added, and
	                            * nothing else differs */
	EXIT_SEAL = 31,            /* the manifest or its signature cannot be used */
	EXIT_CANCELLED = 32,       /* stopped by the user */
	EXIT_FSCK_SKIPPED = 64,    /* fsck: some entries could not be read for want
	                            * of permission */
};

#endif
