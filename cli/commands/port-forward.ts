import type { Socket } from 'node:net';
import type { Command } from 'commander';
import { ApiError, isNotFound } from '../../api/errors/index.ts';
import type { ObjectKey } from '../../client/index.ts';
import { parseObjectArgument } from '../args/resource-args.ts';
import { checkChosen } from '../forward/chosen-pod.ts';
import { joinConnection } from '../forward/connection.ts';
import { type Listener, listen } from '../forward/listeners.ts';
import { type LocalAddress, type PortPair, parseAddresses, parsePortPair } from '../forward/port-pairs.ts';
import { describeFailure } from '../program/failure.ts';
import { interruptSignal, type Session, withSession } from '../session.ts';
import { findPod, parsePodTimeout } from '../workload/find-pods.ts';
import { inOrderForSessions } from '../workload/pod-order.ts';

interface PortForwardFlags {
  readonly address: string;
  readonly podRunningTimeout: string;
}

export function registerPortForward(program: Command): void {
  program
    .command('port-forward')
    .description('Forward local ports to a pod, or to one of a service or workload')
    .argument('<pod>', 'POD, pod/POD, or TYPE/NAME of what has pods')
    .argument(
      '<port...>',
      'REMOTE, LOCAL:REMOTE or :REMOTE for any free port; REMOTE may be a name; of a service it is a port of the service',
    )
    .option('--address <addresses>', 'where to listen, e.g. localhost,10.0.0.5', 'localhost')
    .option('--pod-running-timeout <duration>', 'with TYPE/NAME: how long to wait for a pod', '1m')
    .action(async (word: string, ports: string[], flags: PortForwardFlags, command: Command) => {
      const addresses = parseAddresses(flags.address);
      const timeoutMs = parsePodTimeout(flags.podRunningTimeout);
      const signal = interruptSignal();
      await withSession(command, async (session) => {
        const pod = await findPod(session, word, { order: inOrderForSessions, timeoutMs, signal });
        const key = { namespace: session.namespace, name: pod.metadata?.name ?? '' };
        const pairs = (await podPorts(session, word, ports)).map((text) => parsePortPair(text, pod));
        const warning = await checkChosen(session.client, pod, Date.now());
        if (warning !== undefined) process.stderr.write(`Warning: ${warning}\n`);
        await forwardUntil(signal, { session, key }, pairs, addresses);
      });
    });
}

/** Ports of a service lead to ports of its pods; those of everything else are the pods' own. */
async function podPorts({ client, namespace }: Session, word: string, ports: readonly string[]): Promise<readonly string[]> {
  const { kind, name } = parseObjectArgument(word, 'pod');
  if (kind.kind !== 'Service') return ports;
  const [service, { toPodPorts }] = await Promise.all([
    client.services.get({ namespace, name }),
    import('../forward/service-ports.ts'),
  ]);
  return ports.map((text) => toPodPorts(text, service));
}

interface ForwardTarget {
  readonly session: Session;
  readonly key: ObjectKey;
}

/** Listens and forwards until the signal aborts. Throws NOT_FOUND when the pod has gone. */
async function forwardUntil(
  signal: AbortSignal,
  target: ForwardTarget,
  pairs: readonly PortPair[],
  addresses: readonly LocalAddress[],
): Promise<void> {
  const listeners: Listener[] = [];
  const sockets = new Set<Socket>();
  let lose: (error: unknown) => void = () => {};
  const lost = new Promise<never>((_, reject) => {
    lose = reject;
  });
  const interrupted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
  try {
    for (const pair of pairs) {
      const onConnection = (socket: Socket, localPort: number): void => {
        sockets.add(socket.on('close', () => sockets.delete(socket)));
        void forwardOne(target, socket, { local: localPort, remote: pair.remote }).catch(lose);
      };
      for (const listener of await listen(pair, { addresses, onConnection })) {
        listeners.push(listener);
        process.stdout.write(`Forwarding from ${listener.address}:${listener.port} -> ${pair.remote}\n`);
      }
    }
    await Promise.race([interrupted, lost]);
  } finally {
    for (const listener of listeners) listener.close();
    for (const socket of sockets) socket.destroy();
  }
}

/** Forwards one connection. Its errors are printed and end only this one; throws when the pod has gone. */
async function forwardOne({ session, key }: ForwardTarget, socket: Socket, { local, remote }: PortPair): Promise<void> {
  process.stdout.write(`Handling connection for ${local}\n`);
  try {
    await joinConnection(socket, session.client.pods.portForward(key, remote));
  } catch (error) {
    if (isNotFound(error)) throw new ApiError('NOT_FOUND', 'NotFound', `lost connection to pod: ${describeFailure(error)}`);
    process.stderr.write(`error: an error occurred forwarding ${local} -> ${remote}: ${describeFailure(error)}\n`);
  }
}
