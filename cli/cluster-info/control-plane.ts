import { isNotFound, isUnavailable } from '../../api/errors/index.ts';
import type { Lease, Node } from '../../api/generated/types.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { toMillis } from '../../api/meta/time.ts';
import { defaultSchedulerName, namespaces } from '../../api/meta/well-known.ts';
import type { Client, ServerPage } from '../../client/index.ts';
import { listAll } from '../../client/informer/list-all.ts';
import { describeFailure } from '../program/failure.ts';
import type { Session } from '../session.ts';
import { readServerVersion } from '../version/show-versions.ts';

/**
 * Prints where the server is, and how it, the scheduler and the nodes are.
 * Throws ApiError when the server does not answer.
 */
export async function showControlPlane({ client, address }: Session): Promise<void> {
  const { gitVersion } = await readServerVersion(client.pages);
  process.stdout.write(`Berth control plane is running at https://${address}\n`);
  const lines = await Promise.all([
    line('API server', async () => `${gitVersion}, ${describeReadiness(await client.pages.get('/readyz?verbose'))}`),
    line('Scheduler', () => findScheduler(client)),
    line('Nodes', async () => describeNodes((await listAll(client.nodes)).items)),
  ]);
  process.stdout.write(lines.join(''));
  process.stdout.write('\nTo further debug and diagnose cluster problems, use "berth cluster-info dump".\n');
}

/** What may not be read hides nothing else. */
async function line(name: string, read: () => Promise<string>): Promise<string> {
  const text = await read().catch((error: unknown) => `unknown: ${describeFailure(error)}`);
  return `${name}: ${text}\n`;
}

export function describeReadiness({ status, body }: Pick<ServerPage, 'status' | 'body'>): string {
  if (status < 400) return 'ready';
  const failed = body.toString('utf8').match(/^\[-\]\S+/gm) ?? [];
  return `not ready: ${failed.map((check) => check.slice('[-]'.length)).join(', ') || 'it does not say why'}`;
}

/** A scheduler in the server's process holds no lease, but has a connection, as one outside has. */
async function findScheduler(client: Client): Promise<string> {
  const lease = await findLease(client);
  const { isConnected, text } = describeScheduler(lease, Date.now());
  if (isConnected) return text;
  try {
    await client.placements.list({ schedulerName: defaultSchedulerName, limit: 1 });
    return `${defaultSchedulerName} places pods`;
  } catch (error) {
    if (isUnavailable(error)) return text;
    throw error;
  }
}

async function findLease({ leases }: Client): Promise<Lease | undefined> {
  try {
    return await leases.get({ namespace: namespaces.system, name: defaultSchedulerName });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whether a scheduler places pods, as its lease says. */
export function describeScheduler(lease: Lease | undefined, now: number): { isConnected: boolean; text: string } {
  const { holderIdentity, renewTime, leaseDurationSeconds = 0 } = lease?.spec ?? {};
  if (!holderIdentity || !renewTime) return none('none is connected');
  const silentMs = now - toMillis(renewTime);
  if (silentMs <= leaseDurationSeconds * 1000) return { isConnected: true, text: `${holderIdentity} places pods` };
  return none(`${holderIdentity} has been silent for ${Math.round(silentMs / 1000)} s`);
}

const none = (why: string) => ({ isConnected: false, text: `none: ${why}, and new pods wait` });

export function describeNodes(nodes: readonly Node[]): string {
  const isReady = ({ status }: Node): boolean => findCondition(status?.conditions, 'Ready')?.status === 'True';
  const others = nodes.filter((node) => !isReady(node)).map(({ metadata }) => metadata?.name ?? '');
  const count = `${nodes.length - others.length} of ${nodes.length} ready`;
  return others.length === 0 ? count : `${count}; not ready: ${others.join(', ')}`;
}
