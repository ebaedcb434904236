import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../client/index.ts';
import { containerNames } from '../args/pod-container.ts';
import { parseNodeArgument, parsePodArgument } from '../args/resource-args.ts';
import { attachWhenRunning } from '../debug/attach-when-running.ts';
import { copiedPod } from '../debug/copied-pod.ts';
import { checkFlags, checkNodeFlags, type DebugFlags, debugContainer, debuggerName } from '../debug/debug-container.ts';
import { nodeDebugger, nodePod, nodePodName } from '../debug/node-pod.ts';
import { profiles } from '../debug/profiles.ts';
import { collect } from '../generators/pairs.ts';
import { type Session, withSession } from '../session.ts';
import { chooseTerminal } from '../terminal/terminal.ts';

export function registerDebug(program: Command): void {
  program
    .command('debug')
    .description('Debug a pod with an ephemeral container or a copy, or debug a node')
    .argument('<pod>', 'POD, pod/POD or node/NODE')
    .argument('[words...]', 'behind --: the command of the container')
    .option('--image <image>', 'the image of the container')
    .option('-c, --container <name>', 'the name of the container; without one it is made up')
    .option('--target <container>', 'the container whose process namespace it shares')
    .option('-i, --stdin', "keep its standard input open and connect it to the command's")
    .option('-t, --tty', 'with a terminal')
    .option('--attach', 'join it when it runs; with -i that is so anyway')
    .option('--no-attach', 'only start it')
    .option('-e, --env <key=value>', 'an environment variable; may be given several times', collect)
    .option('-q, --quiet', 'print only what it writes')
    .addOption(new Option('--image-pull-policy <policy>', 'when to pull').choices(['Always', 'IfNotPresent', 'Never']))
    .addOption(new Option('--profile <profile>', 'what it may do').choices(Object.keys(profiles)).default('general'))
    .option('--arguments-only', 'the words behind -- are arguments of the image, not the command')
    .option('--copy-to <name>', 'debug a copy of the pod with this name, and do not change the pod')
    .option(
      '--set-image <container=image>',
      'of a copy: another image of a container (* for all); may be given several times',
      collect,
    )
    .option('--no-share-processes', 'of a copy: its containers do not see the processes of each other')
    .option('--same-node', 'of a copy: on the node of the pod')
    .option('--replace', 'of a copy: delete the pod')
    .action(async (pod: string, words: string[], flags: DebugFlags, command: Command) => {
      const node = parseNodeArgument(pod);
      if (node === undefined) checkFlags(flags);
      else checkNodeFlags(flags);
      await withSession(command, async (session) => {
        const started = await startDebugger(
          session,
          node === undefined ? { pod: parsePodArgument(pod) } : { node },
          words,
          flags,
        );
        if (!(flags.attach ?? flags.stdin)) return;
        const { client, namespace } = session;
        await attachWhenRunning(client, { namespace, ...started, terminal: chooseTerminal(flags), quiet: flags.quiet === true });
      });
    });
}

/** Where the container for looking around is. */
interface Debugger {
  /** The pod's name. */
  readonly name: string;
  readonly container: string;
}

async function startDebugger(
  session: Session,
  subject: { readonly pod: string } | { readonly node: string },
  words: readonly string[],
  flags: DebugFlags,
): Promise<Debugger> {
  if ('node' in subject) return joinNode(session, subject.node, words, flags);
  const { copyTo } = flags;
  if (copyTo === undefined) return { name: subject.pod, container: await joinPod(session, subject.pod, words, flags) };
  return { name: copyTo, container: await copyPod(session, subject.pod, words, { ...flags, copyTo }) };
}

/** Makes a pod in the namespaces of a node that exists. */
async function joinNode(
  { client, namespace }: Session,
  node: string,
  words: readonly string[],
  flags: DebugFlags,
): Promise<Debugger> {
  await client.nodes.get({ name: node });
  const name = nodePodName(node, Math.random);
  await client.objects.create('Pod', nodePod({ name, node, words, flags }), { namespace });
  if (!flags.quiet) process.stdout.write(`Creating debugging pod ${name} with container ${nodeDebugger} on node ${node}.\n`);
  return { name, container: nodeDebugger };
}

/** Adds a container to a running pod; gives its name. */
async function joinPod(
  { client, namespace }: Session,
  name: string,
  words: readonly string[],
  flags: DebugFlags,
): Promise<string> {
  const { quiet, target } = flags;
  const pod = await client.pods.get({ namespace, name });
  const container = chooseName(containerNames(pod), flags);
  if (target !== undefined && !quiet)
    process.stderr.write(`Targeting container "${target}". If you don't see processes from this container it may not run.\n`);
  const added = { ...debugContainer(container, words, flags), ...(target !== undefined && { targetContainerName: target }) };
  const key = { namespace, name, subresource: 'ephemeralcontainers', type: 'strategic' } as const;
  const order = [
    ...(pod.spec?.ephemeralContainers ?? []).map((each) => ({ name: each.ephemeralContainerCommon?.name ?? '' })),
    { name: container },
  ];
  await client.objects.patch('Pod', key, {
    spec: { '$setElementOrder/ephemeralContainers': order, ephemeralContainers: [added] },
  });
  return container;
}

/** Makes a copy with a container that is added or changed; gives its name. */
async function copyPod(
  { client, namespace }: Session,
  name: string,
  words: readonly string[],
  flags: DebugFlags & { readonly copyTo: string },
): Promise<string> {
  const pod: JsonObject = await client.objects.get('Pod', { namespace, name });
  const names = containerNames(await client.pods.get({ namespace, name }));
  // Without an image of its own it is a container of the pod that is changed.
  const container = flags.image === undefined ? (flags.container ?? names[0] ?? '') : chooseName(names, flags, true);
  if (flags.image === undefined && !names.includes(container))
    throw badRequest(`pod "${name}" has no container "${container}": choose one of ${names.join(', ')}, or give --image`);
  if (flags.replace) await client.pods.delete({ namespace, name });
  await client.objects.create('Pod', copiedPod({ pod, flags, words, container }), { namespace });
  return container;
}

function chooseName(taken: readonly string[], { container, quiet }: DebugFlags, mayBeTaken = false): string {
  if (container !== undefined) {
    if (taken.includes(container) && !mayBeTaken)
      throw badRequest(`the pod has a container "${container}" already: choose another name`);
    return container;
  }
  const name = debuggerName(taken, Math.random);
  if (!quiet) process.stderr.write(`Defaulting debug container name to ${name}.\n`);
  return name;
}
