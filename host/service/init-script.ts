import type { ServiceCommand } from './service-command.ts';
import { titleOf } from './service-record.ts';

export interface InitScriptInput {
  readonly dataDir: string;
  /** In the order in which they start. */
  readonly commands: readonly ServiceCommand[];
  /** bin/berth-supervise, which keeps a process running. */
  readonly supervise: string;
}

/**
 * For machines without systemd: starts the keepers with the machine, the same that `berth up` starts
 * (bin/berth-supervise: back-off, one keeper by a lock, bounded logs). Plain POSIX sh with an LSB header.
 */
export function initScriptText({ dataDir, commands, supervise }: InitScriptInput): string {
  const names = commands.map(({ name }) => name);
  const starts = commands.map(({ name, words, environment }) => {
    const settings = Object.entries(environment).map(([key, value]) => `${key}=${quote(value)} `);
    return `  ${settings.join('')}keep ${name} ${words.map(quote).join(' ')}`;
  });
  return `#!/bin/sh
${titleOf(dataDir)}
${comments(commands[0]?.version ?? '')}
run=${quote(`${dataDir}/run`)} logs=${quote(`${dataDir}/logs`)} supervise=${quote(supervise)}
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
set -a
[ ! -r /etc/default/berth ] || . /etc/default/berth
set +a
umask 022
${keeping(dataDir)}
start() {
  cd /
${starts.join('\n')}
}
${stopping(names)}
case $1 in
  start) start ;;
  stop) stop ;;
  restart | force-reload) stop; start ;;
  status) status ;;
  *) echo "usage: $0 start|stop|restart|status" >&2; exit 2 ;;
esac
`;
}

/** For `insserv` and `update-rc.d`, and for the reader. */
function comments(version: string): string {
  return `### BEGIN INIT INFO
# Provides:          berth
# Required-Start:    $local_fs $remote_fs $network
# Required-Stop:     $local_fs $remote_fs $network
# Should-Start:      docker
# Should-Stop:       docker
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: Berth, which runs containers
### END INIT INFO
# Berth ${version}. What you change here is lost at the next "berth install"; /etc/default/berth is read first and is yours.`;
}

/** Starts a keeper, and finds the process of one. */
function keeping(dataDir: string): string {
  return `# A process that its keeper lost is found by the other one within seconds.
keep() {
  name=$1
  shift
  mkdir -p "$run" "$logs"
  rm -f "$run/$name.stop"
  setsid /bin/sh "$supervise" "$run" "$name" "$logs/$name.start.log" "$@" </dev/null >/dev/null 2>&1 &
}
# The number may be somebody else's by now.
pid_of() {
  pid=$(cat "$run/$1.pid" 2>/dev/null)
  [ -n "$pid" ] && tr '\\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- ${quote(`--data-dir ${dataDir} `)} && echo "$pid"
}`;
}

/** Stops the processes, in the opposite order, and says how they are. */
function stopping(names: readonly string[]): string {
  return `# Both are told first, so that none brings the other back; the keepers pass the request on.
stop() {
  for name in ${names.toReversed().join(' ')}; do : >"$run/$name.stop"; done
  for name in ${names.toReversed().join(' ')}; do
    keeper=$(pid_of "$name.supervisor") || keeper=
    process=$(pid_of "$name") || process=
    [ -n "$keeper$process" ] && kill \${keeper:-$process} 2>/dev/null
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
      pid_of "$name" >/dev/null || pid_of "$name.supervisor" >/dev/null || break
      sleep 1
    done
    process=$(pid_of "$name") && kill -KILL "$process" 2>/dev/null
  done
  return 0
}
status() {
  code=0
  for name in ${names.join(' ')}; do
    if process=$(pid_of "$name"); then echo "$name runs (process $process)"; else echo "$name does not run"; code=3; fi
  done
  return $code
}`;
}

/** As a shell takes it for one word. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
