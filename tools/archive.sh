# What tools/setup and tools/sysroot have in common: messages, tries, and the
# Debian archive as this machine reaches it. To be sourced.
# shellcheck shell=sh

# The sourcing script's name, for messages.
who=${0##*/}

say() {
	printf '%s: %s\n' "$who" "$*"
}

complain() {
	printf '%s: %s\n' "$who" "$*" >&2
}

pauses=${SETUP_PAUSES:-10 30 60}

# try COMMAND...: runs it until it succeeds, with growing pauses, since a
# mirror that is just being updated is out of step for a minute or two.
try() {
	for pause in $pauses ''; do
		if "$@"; then
			return 0
		fi
		if [ -n "$pause" ]; then
			say "did not work; trying again in $pause seconds"
			sleep "$pause"
		fi
	done
	return 1
}

# The folder for what is fetched.
# shellcheck disable=SC2034  # for those that source this
cache=${FROND_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/frondfs}

# archive_suite: prints the name of the installed release.
archive_suite() (
	# shellcheck disable=SC1091
	. /etc/os-release
	echo "${VERSION_CODENAME:-sid}"
)

# archive_urls SUITE: prints whatever offers the main component of that suite to
# this machine. apt-get knows it without lists and for both forms of its
# sources files.
archive_urls() {
	# shellcheck disable=SC2016  # apt's own variables
	apt-get indextargets --no-release-info \
		--format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(TARGET_OF)' |
		awk -v suite="$1" '
		$2 != suite && $2 !~ /^(old)?stable$|^testing$|^unstable$|^sid$/ { next }
		$1 ~ /^cdrom:/ || $3 != "main" || $4 != "deb" { next }
		!seen[$1]++ { print $1 }'
}

# archive_apt DIR TYPE SUITE URL...: settings and lists below DIR for an apt that
# leaves the system's own as they are, and needs no root: `apt-get
# -c=DIR/apt.conf`. TYPE is deb or deb-src. Further settings may be appended.
archive_apt() {
	apt=$1 type=$2 from=$3
	shift 3
	# shellcheck disable=SC1091
	keyring=/usr/share/keyrings/$(. /etc/os-release && echo "${ID:-debian}")-archive-keyring.gpg
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
	for url; do
		signed=
		[ ! -f "$keyring" ] || signed="[signed-by=$keyring] "
		echo "$type $signed$url $from main"
	done >"$apt/sources.list"
	cat >"$apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "$apt/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$apt/cache";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
CONF
	# The user _apt, which root's apt downloads as, cannot write in here.
	[ "$(id -u)" -ne 0 ] || echo 'APT::Sandbox::User "root";' >>"$apt/apt.conf"
}
