import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { PodTemplateSpec } from '../api/generated/types.ts';
import { templateText } from '../api/kinds/pod-template/hash.ts';

interface Digest {
  readonly text: string;
  readonly isLarge: boolean;
}

/** Some milliseconds' work. */
const large = 100_000;
const none: PodTemplateSpec = {};
const digests = new WeakMap<PodTemplateSpec, Digest>();

function digestOf(template: PodTemplateSpec = none): Digest {
  const known = digests.get(template);
  if (known) return known;
  const text = templateText(template);
  const digest = { text: createHash('sha256').update(text).digest('base64'), isLarge: text.length > large };
  digests.set(template, digest);
  return digest;
}

/**
 * Whether two templates mean the same, as `templatesEqual`; of templates that never change, as informers show them:
 * each is read once.
 */
export function meanSame(a: PodTemplateSpec | undefined, b: PodTemplateSpec | undefined): boolean {
  return a === b || digestOf(a).text === digestOf(b).text;
}

/**
 * Reads templates before they are compared. Large ones take most of a second each, and a history may have hundreds:
 * other controllers, and the lease, have their turns in between.
 */
export async function readTemplates(templates: Iterable<PodTemplateSpec | undefined>, signal: AbortSignal): Promise<void> {
  for (const template of templates) {
    const isNew = !digests.has(template ?? none);
    if (digestOf(template).isLarge && isNew) await setImmediate();
    if (signal.aborted) return;
  }
}
