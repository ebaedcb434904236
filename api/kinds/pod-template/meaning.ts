import { canonicalMessage, heldMessages, messageFieldsOf } from '../../codec/canonical.ts';
import { type MessageShape, messageShape } from '../../codec/message-shapes.ts';
import type { PodTemplateSpec } from '../../generated/types.ts';
import { workloadLabels } from '../../meta/workload-names.ts';
import { defaultTemplate } from './defaults.ts';

const TEMPLATE = 'berth.core.v1.PodTemplateSpec';

/** Fields of which 0 and false mean the same as no value, wherever they stand; of the others those are values. */
const ZERO_IS_ABSENT: ReadonlySet<string> = new Set([
  ...['hostNetwork', 'hostPID', 'hostIPC', 'stdin', 'stdinOnce', 'tty', 'readOnly'],
  ...['chapAuthDiscovery', 'chapAuthSession', 'sslEnabled', 'partition', 'hostPort', 'initialDelaySeconds'],
]);

/**
 * What a template means: a copy with all defaults, in the one form that templates of the same meaning share. The label
 * of the hash and the managed fields are left out.
 */
export function meaningOf(template: PodTemplateSpec, defaults = defaultTemplate): PodTemplateSpec {
  const meaning = canonicalMessage<PodTemplateSpec>(TEMPLATE, template);
  meaning.metadata ??= {};
  delete meaning.metadata.managedFields;
  const { labels: own } = meaning.metadata;
  if (own) delete own[workloadLabels.podTemplateHash];
  if (own && Object.keys(own).length === 0) delete meaning.metadata.labels;
  defaults(meaning);
  dropZeros(messageShape(TEMPLATE), meaning as Record<string, unknown>);
  return meaning;
}

/** Takes out what says nothing. */
function dropZeros(shape: MessageShape, message: Record<string, unknown>): void {
  const holders = messageFieldsOf(shape);
  for (const name of Object.keys(message)) {
    const value = message[name];
    const field = holders.get(name);
    if (value === undefined || value === '' || ((value === false || value === 0) && ZERO_IS_ABSENT.has(name)))
      delete message[name];
    else if (field) for (const held of heldMessages(field, value)) dropZeros(field.message()!, held as Record<string, unknown>);
  }
}
