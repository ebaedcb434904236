import { lastAppliedAnnotation } from '../apply-patch.ts';
import { type Tree, text, tree } from './json.ts';
import { type Lines, pairs } from './lines.ts';

/** Name, namespace, labels and annotations: the head of every description. */
export function describeMetadata(object: Tree, lines: Lines): void {
  lines.field('Name', text(object, 'metadata', 'name'));
  if (text(object, 'metadata', 'namespace')) lines.field('Namespace', text(object, 'metadata', 'namespace'));
  lines.field('Labels', pairs(tree(object, 'metadata', 'labels')));
  const { [lastAppliedAnnotation]: _, ...annotations } = tree(object, 'metadata', 'annotations');
  lines.field('Annotations', pairs(annotations, ': '));
  lines.field('Created', text(object, 'metadata', 'creationTimestamp'));
  const deletion = text(object, 'metadata', 'deletionTimestamp');
  if (deletion) lines.field('Deleted', `${deletion} (grace period ${text(object, 'metadata', 'deletionGracePeriodSeconds')}s)`);
}
