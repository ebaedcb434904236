import type { PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { storageClassOf } from '../../api/kinds/storage.ts';
import { defaultClassOf, namesNoClass } from '../../api/kinds/storage-class/default-class.ts';
import { noProvisioner } from '../../api/kinds/storage-class/local-path.ts';
import { waitsForConsumer } from '../../api/kinds/volume-matching.ts';

/**
 * Why a claim that a StatefulSet is going to make does not leave its pod every node. Undefined when a volume is made
 * for it wherever the pod goes.
 */
export function whyNotAnywhere(claim: PersistentVolumeClaim, classes: readonly StorageClass[]): string | undefined {
  const { metadata, spec } = claim;
  const subject = `claim "${metadata?.name}"`;
  if (spec?.volumeName) return `${subject} is to have the volume "${spec.volumeName}"`;
  const wanted = storageClassOf(claim);
  const storageClass = namesNoClass(claim) ? defaultClassOf(classes) : classes.find(({ metadata }) => metadata?.name === wanted);
  const name = storageClass?.metadata?.name ?? wanted;
  if (!name) return `${subject} has no storage class, and gets one of the volumes that are there`;
  if (!storageClass) return `the storage class "${name}" of ${subject} does not exist`;
  if (!waitsForConsumer(storageClass))
    return `${subject} gets its volume before the pod is placed: class "${name}" binds Immediate`;
  if (storageClass.provisioner === noProvisioner)
    return `${subject} gets one of the volumes that are there: class "${name}" has none made`;
  if (storageClass.allowedTopologies?.length) return `class "${name}" of ${subject} has volumes made on certain nodes only`;
  return undefined;
}
