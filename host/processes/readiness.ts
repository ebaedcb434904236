import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isNotFound } from '../../api/errors/index.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { toMillis } from '../../api/meta/time.ts';
import { annotations, namespaces } from '../../api/meta/well-known.ts';
import { describeFailure, ExitWith } from '../../cli/program/failure.ts';
import { type Client, connect, type Lease, type Node } from '../../client/index.ts';
import { localConnection } from '../daemon/daemon.ts';
import { installation, localAddress } from '../paths.ts';
import type { ProcessName } from './berth-processes.ts';
import { stopSupervised, whyEnded } from './processes.ts';

/** What `up` waits for, and where. */
export interface Awaited {
  readonly dataDir: string;
  readonly listen: string;
  readonly nodeName: string;
  /** Shown while it is waited for. */
  readonly wait: (text: string) => void;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

const serverTimeoutMs = 60_000;
/** A node whose name another agent had last is taken over after 40 s of its silence. */
const nodeTimeoutMs = 120_000;
const callTimeoutMs = 2_000;

export function logOf(dataDir: string, name: ProcessName): string {
  return join(installation(dataDir).logs, `${name}.log`);
}

/**
 * Connects as administrator; undefined while the server has not made its certificates. The connection may still fail.
 */
export function connectAsAdmin(dataDir: string, listen: string): Client | undefined {
  const { pki } = installation(dataDir);
  if (!['ca.crt', 'admin.crt', 'admin.key'].every((name) => existsSync(join(pki, name)))) return undefined;
  return connect(localConnection(dataDir, localAddress(listen), 'admin'));
}

/** Whether the server answers, once; else why not. */
export async function askServer(client: Client): Promise<string | undefined> {
  try {
    await client.namespaces.get({ name: 'default' }, { timeoutMs: callTimeoutMs });
    return undefined;
  } catch (error) {
    return describeFailure(error);
  }
}

/** Connects as administrator once the server has made its certificates and answers. */
export async function waitForServer({ dataDir, listen, wait, signal }: Awaited): Promise<Client> {
  wait('waiting for the API server');
  const deadline = Date.now() + serverTimeoutMs;
  let why = 'it did not start';
  while (Date.now() < deadline && !signal.aborted) {
    const client = connectAsAdmin(dataDir, listen);
    if (client) {
      const refusal = await askServer(client);
      if (refusal === undefined) return client;
      client.close();
      why = refusal;
    }
    await failIfEnded(dataDir, 'server');
    await delay(50);
  }
  if (signal.aborted) throw new ExitWith(130, 'interrupted');
  throw new ExitWith(1, `the API server does not answer on ${listen}: ${why}; see ${logOf(dataDir, 'server')}`);
}

/** An agent that was just started: what an earlier one said of the node does not count. */
export interface StartedAgent {
  readonly version: string;
  readonly sinceMs: number;
}

/** Whether a node is ready, as its agent says (the one that was just started, if one was); else why not. */
export function decideNodeReady(node: Node, started: StartedAgent | undefined): string | undefined {
  const ready = findCondition(node.status?.conditions, 'Ready');
  if (started !== undefined) {
    const at = ready?.lastHeartbeatTime;
    // Heartbeats are told in whole seconds.
    const isNew = at !== undefined && toMillis(at) >= Math.floor(started.sinceMs / 1000) * 1000;
    if (!isNew || node.status?.nodeInfo?.kubeletVersion !== started.version) return 'its agent has not reported yet';
  }
  return ready?.status === 'True' ? undefined : ready?.message || 'the node is not ready';
}

/** Whether the node is ready now; else why not. */
export async function nodeState(client: Client, nodeName: string): Promise<string | undefined> {
  try {
    return decideNodeReady(await client.nodes.get({ name: nodeName }, { timeoutMs: callTimeoutMs }), undefined);
  } catch (error) {
    return describeFailure(error);
  }
}

/** Returns once the node is ready. */
export async function waitForNode(awaited: Awaited, client: Client, started: StartedAgent | undefined): Promise<void> {
  const { dataDir, nodeName, wait, signal } = awaited;
  wait(`waiting for node ${nodeName}`);
  const deadline = Date.now() + nodeTimeoutMs;
  let why = 'the node has not registered';
  for (let isFirst = true; Date.now() < deadline && !signal.aborted; isFirst = false) {
    try {
      const node = await client.nodes.get({ name: nodeName }, { timeoutMs: callTimeoutMs });
      const refusal = decideNodeReady(node, started);
      if (refusal === undefined) return;
      why = refusal;
    } catch (error) {
      why = isNotFound(error) ? 'the node has not registered' : describeFailure(error);
    }
    await failIfEnded(dataDir, 'agent');
    if (!isFirst) wait(`waiting for node ${nodeName}${await waitingFor(client, awaited)}`);
    await delay(isFirst ? 500 : 200);
  }
  if (signal.aborted) throw new ExitWith(130, 'interrupted');
  throw new ExitWith(1, `node ${nodeName} is not ready: ${why}; see ${logOf(dataDir, 'agent')}`);
}

/** An agent that finds its name taken waits whether the other is alive; that is worth telling. */
async function waitingFor(client: Client, { dataDir, nodeName }: Awaited): Promise<string> {
  try {
    const lease = await client.leases.get({ namespace: namespaces.nodeLease, name: nodeName }, { timeoutMs: callTimeoutMs });
    return describeForeignHolder(lease, hostname(), dataDir);
  } catch {
    // The node does not exist yet, or the server is away: there is nothing to report.
    return '';
  }
}

/** For a lease that another data directory holds: whom the agent waits for. Empty for our own. */
export function describeForeignHolder(lease: Lease, host: string, dataDir: string): string {
  const found = lease.metadata?.annotations ?? {};
  const [otherHost, otherDir] = [found[annotations.holderHost], found[annotations.holderDataDir]];
  if (!otherHost || !otherDir || (otherHost === host && otherDir === dataDir)) return '';
  return `: machine ${otherHost} (data directory ${otherDir}) ran it last; it is taken over when that agent stays silent for 40 s`;
}

/** A process that printed an error before it had a log does not get better by waiting. */
async function failIfEnded(dataDir: string, name: ProcessName): Promise<void> {
  const printed = whyEnded(dataDir, name);
  if (printed === undefined) return;
  await stopSupervised(dataDir, [name]);
  throw new ExitWith(1, `the ${name} does not start: ${printed}; see ${logOf(dataDir, name)}`);
}
