import { dirname } from 'node:path';
import type { ServiceCommand } from './service-command.ts';
import { titleOf } from './service-record.ts';

export interface UnitInput extends ServiceCommand {
  /** Of systemd, e.g. 252: older ones do not know all settings. */
  readonly systemd: number;
  /** Files and folders that it reads or writes, with links resolved: program, data, configuration. */
  readonly paths: readonly string[];
}

export const unitName = (name: ServiceCommand['name']): string => `berth-${name}.service`;

/**
 * The unit of one process. The server touches nothing but its data and is shut in accordingly. The agent makes mounts
 * that the engine has to see, so it cannot have a view of the file system of its own: every Protect... of systemd that
 * needs one would hide volumes from containers.
 */
export function unitText(input: UnitInput): string {
  const { name, dataDir, words, environment, version, systemd } = input;
  const settings = Object.entries(environment).map(([key, value]) => `Environment=${quote(`${key}=${value}`)}`);
  const lines = [
    titleOf(dataDir),
    `# Berth ${version}. What you change here is lost at the next "berth install": use "systemctl edit berth-${name}".`,
    '[Unit]',
    `Description=Berth ${name === 'server' ? 'server: API, scheduler and controllers' : 'agent: runs the pods of this node'}`,
    ...(name === 'server' ? ['Wants=network-online.target'] : ['Wants=network-online.target docker.service']),
    ...(name === 'server'
      ? ['After=network-online.target']
      : ['After=network-online.target docker.service berth-server.service']),
    '# It is started again for ever, not five times.',
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${words.map(quoteCommand).join(' ')}`,
    'WorkingDirectory=/',
    '# For what you want to add, e.g. NODE_OPTIONS; it need not be there.',
    'EnvironmentFile=-/etc/default/berth',
    ...settings,
    'Restart=always',
    'RestartSec=1',
    ...(systemd >= 254 ? ['RestartSteps=5', 'RestartMaxDelaySec=30'] : []),
    "# Asks the process to end, and kills what is left of it. Containers are the engine's, and go on running.",
    'KillMode=mixed',
    'TimeoutStopSec=20',
    'LimitNOFILE=1048576',
    'TasksMax=1024',
    `OOMScoreAdjust=${name === 'server' ? -500 : -900}`,
    // The agent makes volumes that containers of any user read.
    `UMask=${name === 'server' ? '0077' : '0022'}`,
    '',
    ...hardening(input),
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  ];
  return `${lines.join('\n')}\n`;
}

/** What neither process needs, and takes no view of the file system of its own. */
const common = [
  'NoNewPrivileges=yes',
  'LockPersonality=yes',
  'RestrictRealtime=yes',
  'ProtectClock=yes',
  'SystemCallArchitectures=native',
  'SystemCallErrorNumber=EPERM',
  "# Sockets, and the kernel's list of addresses.",
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
];

/**
 * What an agent never does, of what root may. It mounts, enters namespaces, owns files of every user, and runs
 * iptables, whose legacy variant opens a raw socket.
 */
const notOfAgents = [
  'CAP_AUDIT_CONTROL',
  'CAP_AUDIT_READ',
  'CAP_BLOCK_SUSPEND',
  'CAP_BPF',
  'CAP_IPC_LOCK',
  'CAP_LEASE',
  'CAP_LINUX_IMMUTABLE',
  'CAP_MAC_ADMIN',
  'CAP_MAC_OVERRIDE',
  'CAP_SYSLOG',
  'CAP_SYS_BOOT',
  'CAP_SYS_MODULE',
  'CAP_SYS_PACCT',
  'CAP_SYS_RAWIO',
  'CAP_SYS_TIME',
  'CAP_SYS_TTY_CONFIG',
  'CAP_WAKE_ALARM',
];

function hardening({ name, dataDir, words, paths }: UnitInput): string[] {
  if (name === 'agent')
    return [
      ...common,
      'SystemCallFilter=~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot @swap',
      `CapabilityBoundingSet=~${notOfAgents.join(' ')}`,
      '# No ProtectSystem, ProtectHome, PrivateTmp and the like: volumes that the agent mounts must be seen by the engine.',
    ];
  const isBelow = (...folders: string[]): boolean =>
    paths.some((path) => folders.some((folder) => path === folder || path.startsWith(`${folder}/`)));
  const isAtHome = isBelow('/home', '/root', '/run/user');
  const capabilities = [
    // Only its owner reads a home folder; root without this capability cannot.
    ...(isAtHome ? ['CAP_DAC_READ_SEARCH'] : []),
    ...(portsOf(words).some((port) => port < 1024) ? ['CAP_NET_BIND_SERVICE'] : []),
  ];
  return [
    ...common,
    'SystemCallFilter=@system-service @pkey',
    `CapabilityBoundingSet=${capabilities.join(' ')}`,
    'ProtectSystem=strict',
    `ReadWritePaths=${quote(dataDir)}`,
    `ProtectHome=${isAtHome ? 'read-only' : 'yes'}`,
    // An own /tmp would hide what was put there.
    ...(isBelow('/tmp', '/var/tmp') ? [] : ['PrivateTmp=yes']),
    'PrivateDevices=yes',
    'ProtectKernelTunables=yes',
    'ProtectKernelModules=yes',
    'ProtectKernelLogs=yes',
    'ProtectControlGroups=yes',
    'ProtectHostname=yes',
    'ProtectProc=invisible',
    'RestrictNamespaces=yes',
    'RestrictSUIDSGID=yes',
  ];
}

/** Those that are named: the usual ones are no small ones. */
function portsOf(words: readonly string[]): number[] {
  const named = ['--listen', '--kubernetes-listen'].filter((flag) => words.includes(flag));
  return named.map((flag) => Number(/:(\d+)$/.exec(words[words.indexOf(flag) + 1] ?? '')?.[1] ?? 7443));
}

/** The folders whose contents a process loads: of the package, and of what runs it. */
export function programFolders([program = '', launcher = '']: readonly string[]): string[] {
  return [program, dirname(dirname(launcher))];
}

/** A word in a unit file: "%" begins a specifier. */
function quote(word: string): string {
  const escaped = word.replaceAll('%', '%%');
  return /^[\w@+=:,./%-]+$/.test(escaped) ? escaped : `"${escaped.replace(/["\\]/g, '\\$&')}"`;
}

/** A word of a command, where "$" begins a variable. */
function quoteCommand(word: string): string {
  return quote(word).replaceAll('$', '$$$$');
}
