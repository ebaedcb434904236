import type { ContainerIdentity } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { CreateSpec } from './container-spec.ts';
import type { Engine } from './engine.ts';
import type { Inventory } from './inventory.ts';
import { engineName, isSameLabels, type Labels, label } from './labels.ts';
import type { Inspection } from './observe.ts';

export interface CreateRequest {
  readonly engine: Engine;
  readonly inventory: Inventory;
  readonly identity: ContainerIdentity;
  readonly spec: CreateSpec;
}

const createTimeoutMs = 60_000;
const attempts = 3;

/**
 * Creates a container and returns its id. A name that is taken is no proof of anything: what holds it is looked at,
 * adopted when it is the very container that was asked for and has never run (the answer of an earlier create was
 * lost), removed when it is another of ours, and gone around when it is a stranger's.
 */
export async function createContainer(request: CreateRequest): Promise<string> {
  const { identity } = request;
  let name = engineName(identity);
  for (let attempt = 1; ; attempt++) {
    try {
      return await create(request, name);
    } catch (error) {
      if (!(error instanceof RuntimeError) || error.code !== 'conflict' || attempt === attempts) throw error;
    }
    const holder = await request.inventory.inspect(name);
    const verdict = decideOnHolder(holder, request.spec.Labels);
    if (verdict === 'adopt' && holder !== undefined) return holder.Id;
    if (verdict === 'remove' && holder !== undefined) await removeHolder(request.engine, holder.Id);
    if (verdict === 'go-around') name = `${engineName(identity)}_${Date.now().toString(36)}`;
  }
}

export type HolderVerdict = 'retry' | 'adopt' | 'remove' | 'go-around';

/** What to do about the container that has the wanted name already. */
export function decideOnHolder(holder: Inspection | undefined, wanted: Labels): HolderVerdict {
  if (holder === undefined) return 'retry';
  const labels = holder.Config.Labels ?? {};
  if (labels[label.node] !== wanted[label.node]) return 'go-around';
  const untouched = holder.State.Status === 'created' && holder.State.Error === '';
  return untouched && isSameLabels(labels, wanted) ? 'adopt' : 'remove';
}

async function create(request: CreateRequest, name: string): Promise<string> {
  const { identity } = request;
  const answer = await request.engine.call<{ readonly Id: string }>({
    method: 'POST',
    path: '/containers/create',
    query: { name },
    body: request.spec,
    action: `create container ${identity.podNamespace}/${identity.podName}/${identity.containerName}`,
    timeoutMs: createTimeoutMs,
  });
  return answer.Id;
}

async function removeHolder(engine: Engine, id: string): Promise<void> {
  await engine.call({
    method: 'DELETE',
    path: `/containers/${id}`,
    query: { v: 1, force: 1 },
    action: `remove container ${id}`,
    accept: [404, 409],
    slow: true,
  });
}
