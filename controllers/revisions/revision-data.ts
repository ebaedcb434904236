import { messageFromJson, messageToJson } from '../../api/codec/json.ts';
import type { ControllerRevision, PodTemplateSpec, RawExtension } from '../../api/generated/types.ts';
import { isJsonObject, type Json } from '../../api/meta/merge-patch.ts';
import { meanSame } from '../template-digests.ts';

const TEMPLATE = 'berth.core.v1.PodTemplateSpec';

/** A template as revisions keep it: a strategic merge patch that puts it back. `rollout undo` sends it as it is. */
export function dataOfTemplate(template: PodTemplateSpec): RawExtension {
  const patch = { spec: { template: { ...messageToJson(TEMPLATE, template), $patch: 'replace' } } };
  return { raw: Buffer.from(JSON.stringify(patch)) };
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
