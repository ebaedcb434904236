import { badRequest } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import type { Client } from '../../client/index.ts';
import { troubleOf } from '../workload/troubles.ts';

/**
 * Whether connections can be forwarded to the best of some pods. Throws INVALID_ARGUMENT, with what holds it up, for
 * one that does not run. Undefined, or what to tell of one that runs and is not ready, as happens while it is debugged.
 */
export async function checkChosen(client: Pick<Client, 'objects'>, pod: Pod, now: number): Promise<string | undefined> {
  const phase = pod.status?.phase ?? 'Pending';
  if (phase === 'Running' && isPodReady(pod)) return undefined;
  const { namespace, name = '' } = pod.metadata ?? {};
  const what = troubleOf(await client.objects.get('Pod', { namespace, name }), now)?.what;
  if (phase === 'Running') return what && `pod/${name} is not ready: 1 pod ${what}`;
  const why = what ? `: 1 pod ${what}` : '';
  throw badRequest(`unable to forward port because pod is not running. Current status=${phase}${why} (pod/${name})`);
}
