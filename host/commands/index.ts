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
    description: 'Stop Berth on this machine; containers keep running',
    load: async () => (await import('./down.ts')).registerDown,
  },
  {
    name: 'token',
    group: 'Start and stop Berth',
    description: 'Manage the tokens for joining machines',
    load: async () => (await import('./token.ts')).registerToken,
  },
  {
    name: 'join',
    group: 'Start and stop Berth',
    description: 'Join this machine to a cluster as a node: "berth token create" on the server prints the command',
    load: async () => (await import('./join.ts')).registerJoin,
  },
  {
    name: 'install',
    group: 'Start and stop Berth',
    description: 'Install Berth as a service that starts at boot: systemd units, or a script in /etc/init.d',
    load: async () => (await import('./install.ts')).registerInstall,
  },
  {
    name: 'uninstall',
    group: 'Start and stop Berth',
    description: 'Stop and remove the services of "berth install"; data and running containers stay',
    load: async () => (await import('./uninstall.ts')).registerUninstall,
  },
  {
    name: 'restore',
    group: 'Operate and secure the cluster',
    description: 'Restore the store of a stopped Berth from a backup (-: standard input)',
    load: async () => (await import('./restore.ts')).registerRestore,
  },
  {
    name: 'compact',
    group: 'Operate and secure the cluster',
    description: 'Compact the store of a stopped Berth',
    load: async () => (await import('./compact.ts')).registerCompact,
  },
  {
    name: 'certs',
    group: 'Operate and secure the cluster',
    description: "Show and renew the cluster's certificates",
    load: async () => (await import('./certs.ts')).registerCerts,
  },
  {
    name: 'audit',
    group: 'Operate and secure the cluster',
    description: 'Show the audit log of the server on this machine',
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
    description: "Run a scheduler in the foreground, beside or instead of the server's",
    load: async () => (await import('./scheduler.ts')).registerScheduler,
  },
  {
    name: 'controllers',
    group: 'Start and stop Berth',
    description: "Run the controllers in the foreground, beside or instead of the server's",
    load: async () => (await import('./controllers.ts')).registerControllers,
  },
];
