import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { PodTemplateSpec } from '../api/generated/types.ts';
import { countValues, templateText } from '../api/kinds/pod-template/hash.ts';

/** A template with more values than this takes some milliseconds to hash. */
const large = 2_000;
const none: PodTemplateSpec = {};
const digests = new WeakMap<PodTemplateSpec, string>();
/** The large templates that wait for their turn, whichever controller is to read them. */
let turns: Promise<unknown> = Promise.resolve();

function digestOf(template: PodTemplateSpec = none): string {
  const known = digests.get(template);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(templateText(template)).digest('base64');
  digests.set(template, digest);
  return digest;
}

/**
 * Whether two templates mean the same, as `templatesEqual`; of templates that never change, as informers show them:
 * each is read once.
 */
export function meanSame(a: PodTemplateSpec | undefined, b: PodTemplateSpec | undefined): boolean {
  return a === b || digestOf(a) === digestOf(b);
}

/**
 * Reads templates before they are compared. Large ones take most of a second each, and a history may have hundreds:
 * they are read one at a time in all of the process, so that the lease and other work have their turns in between.
 */
export async function readTemplates(templates: Iterable<PodTemplateSpec | undefined>, signal: AbortSignal): Promise<void> {
  for (const template of templates) {
    if (template && !digests.has(template) && countValues(template) > large) {
      const turn = turns.then(async () => {
        if (signal.aborted) return;
        digestOf(template);
        await setImmediate();
      });
      turns = turn.catch(() => {});
      await turn;
    }
    if (signal.aborted) return;
  }
}
