import type { CommandEntry } from '../../cli/program/command-entry.ts';

/** The commands for what runs on this machine; the order is the order of the help. */
export const hostCommands: readonly CommandEntry[] = [
  {
    name: 'up',
    group: 'Start and stop Berth',
    description: 'Start Berth on this machine: the API server, the scheduler and an agent',
    load: async () => (await import('./up.ts')).registerUp,
  },
  {
    name: 'down',
    group: 'Start and stop Berth',
    description: 'Stop Berth on this machine; its containers go on running',
    load: async () => (await import('./down.ts')).registerDown,
  },
  {
    name: 'token',
    group: 'Start and stop Berth',
    description: 'Tokens with which other machines join',
    load: async () => (await import('./token.ts')).registerToken,
  },
  {
    name: 'join',
    group: 'Start and stop Berth',
    description: 'Make this machine a node of another one: "berth token create" there prints the line',
    load: async () => (await import('./join.ts')).registerJoin,
  },
  {
    name: 'install',
    group: 'Start and stop Berth',
    description: 'Make Berth a service of this machine, which starts with it: of systemd, or with a script in /etc/init.d',
    load: async () => (await import('./install.ts')).registerInstall,
  },
  {
    name: 'uninstall',
    group: 'Start and stop Berth',
    description: 'End the services that "berth install" made and remove them; data and running containers stay',
    load: async () => (await import('./uninstall.ts')).registerUninstall,
  },
  {
    name: 'restore',
    group: 'Operate and secure the cluster',
    description: 'Make the store of a stopped Berth from a backup (-: standard input)',
    load: async () => (await import('./restore.ts')).registerRestore,
  },
  {
    name: 'compact',
    group: 'Operate and secure the cluster',
    description: 'Make the file of the store of a stopped Berth as small as what is in it',
    load: async () => (await import('./compact.ts')).registerCompact,
  },
  {
    name: 'certs',
    group: 'Operate and secure the cluster',
    description: "The cluster's certificates: when they end, and their renewal",
    load: async () => (await import('./certs.ts')).registerCerts,
  },
  {
    name: 'audit',
    group: 'Operate and secure the cluster',
    description: 'Show who did what, from the audit log of the server on this machine',
    load: async () => (await import('./audit.ts')).registerAudit,
  },
  {
    name: 'server',
    group: 'Start and stop Berth',
    description: 'Run the API server, the scheduler and the controllers in the foreground',
    load: async () => (await import('./server.ts')).registerServer,
  },
  {
    name: 'agent',
    group: 'Start and stop Berth',
    description: 'Run the agent of a node in the foreground',
    load: async () => (await import('./agent.ts')).registerAgent,
  },
  {
    name: 'scheduler',
    group: 'Start and stop Berth',
    description: 'Run a scheduler in the foreground, beside or instead of the one in the server',
    load: async () => (await import('./scheduler.ts')).registerScheduler,
  },
];
