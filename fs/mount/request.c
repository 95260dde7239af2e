#include "fs/mount/request.h"

#include <linux/fuse.h>
#include <stdatomic.h>
#include <string.h>

/* The kernel offers FUSE_HANDLE_KILLPRIV_V2 (Linux 5.11); we took it. */
static atomic_bool offered, taken;

/* Of the request that this thread works on. */
static _Thread_local struct {
	bool is_init;
	bool clears_set_id;
} current;

/* The part of a request behind its header, if it is that long. */
static bool get_body(const void *request, size_t n, void *body, size_t size)
{
	if (n < sizeof(struct fuse_in_header) + size)
		return false;
	memcpy(body, (const char *)request + sizeof(struct fuse_in_header),
	       size);
	return true;
}

static bool clears_set_id(uint32_t opcode, const void *request, size_t n)
{
	struct fuse_setattr_in setattr;
	struct fuse_write_in write;
	struct fuse_open_in open;

	switch (opcode) {
	case FUSE_WRITE:
		return get_body(request, n, &write, sizeof(write))
		       && (write.write_flags & FUSE_WRITE_KILL_SUIDGID);
	case FUSE_OPEN:
		return get_body(request, n, &open, sizeof(open))
		       && (open.open_flags & FUSE_OPEN_KILL_SUIDGID);
	case FUSE_SETATTR:
		return get_body(request, n, &setattr, sizeof(setattr))
		       && (setattr.valid & FATTR_KILL_SUIDGID);
	default:
		return false;
	}
}

void request_received(const void *request, size_t n)
{
	struct fuse_in_header header;
	struct fuse_init_in init;

	current.is_init = current.clears_set_id = false;
	if (n < sizeof(header))
		return;
	memcpy(&header, request, sizeof(header));
	current.clears_set_id = clears_set_id(header.opcode, request, n);
	if (header.opcode != FUSE_INIT)
		return;
	current.is_init = true;
	memset(&init, 0, sizeof(init));
	/* Old kernels send less than this. */
	get_body(request, n, &init, sizeof(init));
	atomic_store(&offered, init.flags & FUSE_HANDLE_KILLPRIV_V2);
}

void request_answered(const struct iovec *parts, int count)
{
	struct fuse_out_header header;
	struct fuse_init_out out;

	if (!current.is_init || !atomic_load(&offered) || count < 2
	    || parts[0].iov_len != sizeof(header)
	    || parts[1].iov_len < offsetof(struct fuse_init_out, max_background))
		return;
	memcpy(&header, parts[0].iov_base, sizeof(header));
	if (header.error)
		return;
	memcpy(&out, parts[1].iov_base, offsetof(struct fuse_init_out,
	                                         max_background));
	out.flags |= FUSE_HANDLE_KILLPRIV_V2;
	memcpy(parts[1].iov_base, &out, offsetof(struct fuse_init_out,
	                                         max_background));
	atomic_store(&taken, true);
}

bool request_set_id_is_ours(void)
{
	return atomic_load(&taken);
}

bool request_clears_set_id(fuse_req_t req)
{
	/* Where it is not negotiated the kernel clears them itself, except
	 * where it leaves truncating to an open. */
	return request_set_id_is_ours() ? current.clears_set_id
	                                : fuse_req_ctx(req)->uid != 0;
}
