import { text } from '../describe/json.ts';
import type { Trouble } from './troubles.ts';

/** So many pods of one trouble are named. */
const mostNamed = 5;

/** "2 pods with container "c" that ended with exit code 1, restarted 7 times". */
export function troubleHeadline({ pods, what, restarts = 0 }: Trouble): string {
  const again =
    restarts === 0 ? '' : `, restarted ${restarts === 1 ? 'once' : `${pods.length > 1 ? 'up to ' : ''}${restarts} times`}`;
  return `${pods.length} ${pods.length === 1 ? 'pod' : 'pods'} ${what}${again}`;
}

/** The names of the pods, of many the first ones. */
export function podNames({ pods }: Pick<Trouble, 'pods'>, most = mostNamed): string {
  const names = pods.map((pod) => text(pod, 'metadata', 'name'));
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

/** In one line, for what goes on meanwhile. */
export function troubleLine(trouble: Trouble): string {
  return `${troubleHeadline(trouble)} (${podNames(trouble, 2)})`;
}
