import type { Command } from 'commander';
import { completeCommand } from '../command-word.ts';

/** Adds one command to the program. */
export type Register = (program: Command) => void;

/** One command as it is known before its code is loaded: most of what a short command costs is loading code that it does not run. */
export interface CommandEntry {
  readonly name: string;
  /** The command's own description, which a test compares: help and completion show it without loading the command. */
  readonly description: string;
  /** The heading of the help under which it stands. */
  readonly group: string;
  readonly hidden?: boolean;
  /** Whether it has to know which others there are. */
  readonly seesOthers?: boolean;
  readonly load: () => Promise<Register>;
}

/** Every command; the order is the order of the help. */
export const commands: readonly CommandEntry[] = [
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
    name: 'apply',
    group: 'Create and change objects',
    description: 'Create or change objects so that they are as the manifests say',
    load: async () => (await import('./apply.ts')).registerApply,
  },
  {
    name: 'diff',
    group: 'Create and change objects',
    description: 'Show how objects have changed since a time, or what apply would change; exit code 1 when something differs',
    load: async () => (await import('./diff.ts')).registerDiff,
  },
  {
    name: 'create',
    group: 'Create and change objects',
    description: 'Create objects from manifests, or a simple one from flags; what exists is an error',
    load: async () => (await import('./create.ts')).registerCreate,
  },
  {
    name: 'run',
    group: 'Create and change objects',
    description: 'Run an image in a pod of its own',
    load: async () => (await import('./run.ts')).registerRun,
  },
  {
    name: 'edit',
    group: 'Create and change objects',
    description: 'Change objects in an editor: $KUBE_EDITOR, $VISUAL, $EDITOR or vi',
    load: async () => (await import('./edit.ts')).registerEdit,
  },
  {
    name: 'patch',
    group: 'Create and change objects',
    description: 'Change fields of objects',
    load: async () => (await import('./patch.ts')).registerPatch,
  },
  {
    name: 'replace',
    group: 'Create and change objects',
    description: 'Replace objects by what the manifests say; what does not exist is an error',
    load: async () => (await import('./replace.ts')).registerReplace,
  },
  {
    name: 'label',
    group: 'Create and change objects',
    description: 'Set and remove labels of objects: KEY=VALUE sets, KEY- removes',
    load: async () => (await import('./label.ts')).registerLabel,
  },
  {
    name: 'annotate',
    group: 'Create and change objects',
    description: 'Set and remove annotations of objects: KEY=VALUE sets, KEY- removes',
    load: async () => (await import('./annotate.ts')).registerAnnotate,
  },
  {
    name: 'get',
    group: 'Look at objects',
    description: 'Show objects: pods, pod/web, pods,nodes, all ...',
    load: async () => (await import('./get.ts')).registerGet,
  },
  {
    name: 'describe',
    group: 'Look at objects',
    description: 'Show everything about objects, with what happened to them',
    load: async () => (await import('./describe.ts')).registerDescribe,
  },
  {
    name: 'history',
    group: 'Look at objects',
    description: 'Show who changed which fields of an object when, also of one that is deleted',
    load: async () => (await import('./history.ts')).registerHistory,
  },
  {
    name: 'why',
    group: 'Look at objects',
    description: 'Show why a pod is on its node or on none: what each node lacks, or how each scores; or the last placements',
    load: async () => (await import('./why.ts')).registerWhy,
  },
  {
    name: 'simulate',
    group: 'Look at objects',
    description: 'Show where the pods of manifests would go, one after the other, without creating them',
    load: async () => (await import('./simulate.ts')).registerSimulate,
  },
  {
    name: 'events',
    group: 'Look at objects',
    description: 'Show what happened, the latest last',
    load: async () => (await import('./events.ts')).registerEvents,
  },
  {
    name: 'top',
    group: 'Look at objects',
    description: 'Show what nodes or pods use of CPU and memory',
    load: async () => (await import('./top.ts')).registerTop,
  },
  {
    name: 'delete',
    group: 'Create and change objects',
    description: 'Delete objects and wait until they are gone',
    load: async () => (await import('./delete.ts')).registerDelete,
  },
  {
    name: 'cordon',
    group: 'Look after nodes',
    description: 'Give nodes no new pods; those that run there stay',
    load: async () => (await import('./cordon.ts')).registerCordon,
  },
  {
    name: 'uncordon',
    group: 'Look after nodes',
    description: 'Give nodes new pods again',
    load: async () => (await import('./cordon.ts')).registerUncordon,
  },
  {
    name: 'drain',
    group: 'Look after nodes',
    description: 'Give nodes no new pods and end those that run there, as their budgets allow',
    load: async () => (await import('./drain.ts')).registerDrain,
  },
  {
    name: 'taint',
    group: 'Look after nodes',
    description: 'Keep pods off nodes that do not tolerate a mark, or drive them away',
    load: async () => (await import('./taint.ts')).registerTaint,
  },
  {
    name: 'logs',
    group: 'Work with containers',
    description: 'Show what containers wrote',
    load: async () => (await import('./logs.ts')).registerLogs,
  },
  {
    name: 'exec',
    group: 'Work with containers',
    description: 'Run a command in a container: exec web -- ls /',
    load: async () => (await import('./exec.ts')).registerExec,
  },
  {
    name: 'attach',
    group: 'Work with containers',
    description: 'Join the standard input and output of a running container',
    load: async () => (await import('./attach.ts')).registerAttach,
  },
  {
    name: 'debug',
    group: 'Work with containers',
    description: 'Look into a pod with a container beside its own, into a copy of it, or into a node',
    load: async () => (await import('./debug.ts')).registerDebug,
  },
  {
    name: 'port-forward',
    group: 'Work with containers',
    description: 'Make ports of a pod reachable on this machine',
    load: async () => (await import('./port-forward.ts')).registerPortForward,
  },
  {
    name: 'cp',
    group: 'Work with containers',
    description: 'Copy files to and from containers: cp FILE web:/tmp, cp web:/var/log ./log',
    load: async () => (await import('./cp.ts')).registerCp,
  },
  {
    name: 'wait',
    group: 'Look at objects',
    description: 'Wait until objects are in a state: --for=condition=Ready, --for=delete',
    load: async () => (await import('./wait.ts')).registerWait,
  },
  {
    name: 'api-resources',
    group: 'Look at objects',
    description: 'Show the kinds of objects and what they may be called',
    load: async () => (await import('./api-resources.ts')).registerApiResources,
  },
  {
    name: 'api-versions',
    group: 'Look at objects',
    description: 'Show the versions of the API that the server has: "group/version", one a line',
    load: async () => (await import('./api-versions.ts')).registerApiVersions,
  },
  {
    name: 'explain',
    group: 'Look at objects',
    description: 'Show what a kind or one of its fields means, and whether Berth acts on it',
    load: async () => (await import('./explain.ts')).registerExplain,
  },
  {
    name: 'cluster-info',
    group: 'Operate and secure the cluster',
    description: "Show the server's address and how the control plane is; with dump: everything for a report of a problem",
    load: async () => (await import('./cluster-info.ts')).registerClusterInfo,
  },
  {
    name: 'backup',
    group: 'Operate and secure the cluster',
    description: 'Write all objects, as they are now, into a file (-: standard output); "berth restore" makes a store of it',
    load: async () => (await import('./backup.ts')).registerBackup,
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
    name: 'auth',
    group: 'Operate and secure the cluster',
    description: 'Show who you are and what you may do',
    load: async () => (await import('./auth.ts')).registerAuth,
  },
  {
    name: 'certificate',
    group: 'Operate and secure the cluster',
    description: 'Answer requests for certificates: CertificateSigningRequests, "berth get csr"',
    load: async () => (await import('./certificate.ts')).registerCertificate,
  },
  {
    name: 'certs',
    group: 'Operate and secure the cluster',
    description: "The cluster's certificates: when they end, and their renewal",
    load: async () => (await import('./certs.ts')).registerCerts,
  },
  {
    name: 'secrets',
    group: 'Operate and secure the cluster',
    description: 'How the server keeps Secrets on its disk',
    load: async () => (await import('./secrets.ts')).registerSecrets,
  },
  {
    name: 'audit',
    group: 'Operate and secure the cluster',
    description: 'Show who did what, from the audit log of the server on this machine',
    load: async () => (await import('./audit.ts')).registerAudit,
  },
  {
    name: 'config',
    group: 'This program',
    description: 'Show and choose the clusters that this machine knows',
    load: async () => (await import('./config.ts')).registerConfig,
  },
  {
    name: 'log-level',
    group: 'Operate and secure the cluster',
    description: 'Show how much the server and the agents log, or change it until they start again: log-level agent/NODE debug',
    load: async () => (await import('./log-level.ts')).registerLogLevel,
  },
  {
    name: 'proto',
    group: 'This program',
    description: "The API's definition, for programs in other languages",
    load: async () => (await import('./proto.ts')).registerProto,
  },
  {
    name: 'completion',
    group: 'This program',
    description: 'Print a script that makes a shell complete commands: source <(berth completion bash)',
    load: async () => (await import('./completion.ts')).registerCompletion,
  },
  {
    name: 'plugin',
    group: 'This program',
    description: 'Programs that add commands: "berth foo" runs berth-foo of the PATH, when berth has no foo of its own',
    seesOthers: true,
    load: async () => (await import('./plugin.ts')).registerPlugin,
  },
  {
    name: completeCommand,
    group: 'This program',
    description: '',
    hidden: true,
    seesOthers: true,
    load: async () => (await import('./complete.ts')).registerComplete,
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
  {
    name: 'version',
    group: 'This program',
    description: 'Show the versions of this program and of the server',
    load: async () => (await import('./version.ts')).registerVersion,
  },
];
