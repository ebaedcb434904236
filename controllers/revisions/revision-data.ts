import { messageFromJson, messageToJson } from '../../api/codec/json.ts';
import type { ControllerRevision, PodTemplateSpec, RawExtension } from '../../api/generated/types.ts';
import { isJsonObject, type Json } from '../../api/meta/merge-patch.ts';
import { meanSame } from '../template-digests.ts';

const TEMPLATE = 'berth.core.v1.PodTemplateSpec';

/**
 * A template as revisions keep it: a strategic merge patch that puts it back. `rollout undo` sends it as it is. To the
 * byte what Kubernetes' controllers write, with names in order and a creation time that is none: kubectl compares the
 * bytes to find the revision that an object is of.
 */
export function dataOfTemplate(template: PodTemplateSpec): RawExtension {
  const { metadata, ...rest } = messageToJson(TEMPLATE, template);
  const own = { creationTimestamp: null, ...(metadata as object | undefined) };
  const text = textInOrder({ spec: { template: { ...rest, metadata: own, $patch: 'replace' } } });
  return { raw: Buffer.from(text.replace(escaped, (mark) => `\\u${hexOf(mark)}`)) };
}

/** What Go writes as its number, so that a page of HTML may hold it. */
const escaped = /[<>&\u2028\u2029]/g;
const hexOf = (mark: string): string => mark.charCodeAt(0).toString(16).padStart(4, '0');

/** Made piece by piece, since an object has names such as "10" and "9" before others, in the order of their numbers. */
function textInOrder(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(textInOrder).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${textInOrder(value[name]!)}`).join(',')}}`;
}

/** Each revision is read once: an informer gives the same object until it changes. */
const read = new WeakMap<ControllerRevision, PodTemplateSpec | 'unreadable'>();

/** The template of a revision; undefined for data that this version of Berth cannot read. */
export function templateOfRevision(revision: ControllerRevision): PodTemplateSpec | undefined {
  const known = read.get(revision) ?? readTemplate(revision);
  read.set(revision, known);
  return known === 'unreadable' ? undefined : known;
}

function readTemplate({ data }: ControllerRevision): PodTemplateSpec | 'unreadable' {
  try {
    const patch = JSON.parse(Buffer.from(data?.raw ?? []).toString()) as Json;
    const spec = isJsonObject(patch) ? patch.spec : undefined;
    if (!isJsonObject(spec) || !isJsonObject(spec.template)) return 'unreadable';
    const { $patch: _, ...template } = spec.template;
    return messageFromJson<PodTemplateSpec>(TEMPLATE, template);
  } catch {
    // Made by another program, or by a later version: it is kept, and never gone back to by itself.
    return 'unreadable';
  }
}

/** Whether a revision means this template. Costs next to nothing for the same two objects as before. */
export function isRevisionOf(revision: ControllerRevision, template: PodTemplateSpec): boolean {
  const own = templateOfRevision(revision);
  return own !== undefined && meanSame(own, template);
}
