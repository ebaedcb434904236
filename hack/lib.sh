# Shared by the scripts of hack/: what a fresh Debian machine lacks. Sourced, never run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
state=/run/berth-hack          # what these scripts started themselves; gone after a reboot, like the processes
docker_socket=/var/run/docker.sock

step() { printf '\n==> %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
docker_answers() { curl -sf --max-time 5 --unix-socket "$docker_socket" http://localhost/_ping >/dev/null 2>&1; }

has_image() { curl -sf --max-time 10 --unix-socket "$docker_socket" "http://localhost/images/$1/json" >/dev/null 2>&1; }

# install_packages NAME...: installs the Debian packages that are missing.
install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  [ "$(id -u)" = 0 ] || fail "the Debian packages ${missing[*]} are missing: run this as root, or install them first"
  command -v apt-get >/dev/null || fail "${missing[*]} are missing and this is not Debian: install them by hand"
  step "installing Debian packages: ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# ensure_docker: installs the distribution's Docker Engine and starts it when none answers.
ensure_docker() {
  # The agent looks with `ip` for what an engine that was killed has left behind.
  install_packages curl ca-certificates iproute2
  docker_answers && return
  install_packages docker.io iptables
  docker_answers && return
  if [ -d /run/systemd/system ]; then
    systemctl start docker
  else
    step "starting dockerd"
    mkdir -p "$state"
    # A killed engine leaves its pid file; the number may be somebody else's by now, and then the engine would not start.
    if [ -f /var/run/docker.pid ] && [ "$(cat "/proc/$(cat /var/run/docker.pid)/comm" 2>/dev/null)" != dockerd ]; then
      rm -f /var/run/docker.pid
    fi
    setsid dockerd >"$state/dockerd.log" 2>&1 </dev/null &
    echo $! >"$state/dockerd.pid"
    echo "$PWD" >"$state/clone"
  fi
  for _ in $(seq 1 60); do docker_answers && return; sleep 0.5; done
  tail -n 20 "$state/dockerd.log" >&2 2>/dev/null || true
  fail "the Docker Engine does not answer on $docker_socket after 30 s"
}

# refuse_leftovers: fails when containers of an installation elsewhere have this machine's node name.
# "berth up" refuses them as well, but needs the build.
refuse_leftovers() {
  docker_answers || return 0
  local node found
  node=$(hostname | tr '[:upper:]' '[:lower:]')
  [ ! -e "/var/lib/berth/node/$node" ] || return 0
  found=$(curl -sf --max-time 10 --unix-socket "$docker_socket" -G http://localhost/containers/json -d all=1 \
    --data-urlencode "filters={\"label\":[\"io.berth.node=$node\"]}" | { grep -o '"Id":' || true; } | wc -l)
  [ "$found" -eq 0 ] || fail "there are $found containers of a node $node that another data directory than /var/lib/berth made; they would be removed:
  end that Berth with \"berth down --purge --data-dir FOLDER\", or remove them: docker rm -f \$(docker ps -aq --filter label=io.berth.node=$node)"
}

# ensure_network: the programs that the network of pods runs.
ensure_network() { install_packages iproute2 nftables iptables util-linux conntrack; }

# ensure_npm: installs the npm packages as locked, when they are not there yet.
ensure_npm() {
  command -v node >/dev/null || fail "Node.js 20 or newer is needed"
  if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    local registry
    registry=$(npm config get registry)
    step "installing npm packages"
    # Without a registry npm tries on in silence for minutes. The ping takes the way that npm takes (proxy, certificates); a registry
    # that knows no ping is no reason to give up.
    npm ping --fetch-retries=0 --fetch-timeout=15000 >/dev/null 2>&1 ||
      echo "warning: the npm registry $registry does not answer; trying all the same, which can take some minutes" >&2
    # Not `npm ci`: it refuses a lock file that leaves out optional packages of other platforms, and a registry that does not have
    # them all writes such a file. This installs what the lock says and leaves the file alone.
    npm install --no-save --no-audit --no-fund --loglevel=error --fetch-retries=3 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 ||
      fail "the npm packages cannot be installed: is the registry $registry reachable from this machine?"
  fi
}

# ensure_kubectl: Debian's kubectl, for tests alone: it is not installed, so that another one on this machine stays the one that "kubectl" means.
ensure_kubectl() {
  local folder=$root/dist/test-tools/kubernetes-client
  [ -x "$folder/usr/bin/kubectl" ] && return
  command -v apt-get >/dev/null || fail "this is not Debian: put a kubectl at $folder/usr/bin/kubectl by hand"
  step "fetching Debian's kubectl"
  rm -rf "$folder"
  mkdir -p "$folder"
  [ "$(id -u)" != 0 ] || apt-get update -qq
  (cd "$folder" && apt-get download -qq -o APT::Sandbox::User=root kubernetes-client && dpkg-deb -x kubernetes-client_*.deb . && rm kubernetes-client_*.deb) ||
    fail "Debian's package kubernetes-client cannot be fetched"
}

# build: compiles TypeScript to dist/.
build() {
  step "building"
  npm run --silent build
}
