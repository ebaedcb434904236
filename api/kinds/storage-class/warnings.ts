import type { StorageClass } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { waitsForConsumer } from '../volume-matching.ts';
import { storageClassFields } from './fields.ts';
import { isLocalPath } from './local-path.ts';

const ofFields = fieldWarnings('berth.storage.v1.StorageClass', storageClassFields);

/** What will not work as written, although it may be stored. */
export function storageClassWarnings(storageClass: StorageClass): string[] {
  const warnings = [...ofFields(storageClass)];
  if (isLocalPath(storageClass.provisioner) && !waitsForConsumer(storageClass))
    warnings.push(
      `volumeBindingMode: claims of this class never get a volume: ${storageClass.provisioner} makes a folder on the node of the pod that uses it, which needs "WaitForFirstConsumer"`,
    );
  return warnings;
}
