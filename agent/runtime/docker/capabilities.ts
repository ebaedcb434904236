import { readFileSync } from 'node:fs';

const enginePidFile = '/var/run/docker.pid';

/** Linux' capabilities, each at its number (linux/capability.h), as far as every engine knows them. */
const names =
  'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN ' +
  'NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME ' +
  'SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ';

const numbered = names.split(' ').map((name, number) => ({ name, bit: 1n << BigInt(number) }));

/**
 * What the engine's own process may do, as /proc/<pid>/status says it. Undefined where the process cannot be seen,
 * e.g. in another container.
 */
export function readEngineStatus(): string | undefined {
  try {
    return readFileSync(`/proc/${readFileSync(enginePidFile, 'utf8').trim()}/status`, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * The capabilities that a restricted machine does not have at all: no container can be given them, and the engine
 * starts none that asks for "all". Empty on a usual machine, and where nothing is known.
 */
export function lackingCapabilities(engineStatus: string | undefined): string[] {
  const mask = /^CapBnd:\s*([0-9a-f]+)$/m.exec(engineStatus ?? '')?.[1];
  if (mask === undefined) return [];
  const has = BigInt(`0x${mask}`);
  // An engine without special capabilities says nothing about the machine.
  return has === 0n ? [] : numbered.filter(({ bit }) => (has & bit) === 0n).map(({ name }) => name);
}
