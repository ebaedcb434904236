import { describe, expect, it } from 'vitest';
import type { PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { localPathClass } from '../../api/kinds/storage-class/local-path.ts';
import { whyNotAnywhere } from './claims-to-make.ts';

const made = (name: string, rest: StorageClass): StorageClass => ({
  metadata: { name },
  provisioner: 'example.com/disks',
  volumeBindingMode: 'WaitForFirstConsumer',
  ...rest,
});
const zones = [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['a'] }] }];
const classes = [
  localPathClass,
  made('late', {}),
  made('fast', { volumeBindingMode: 'Immediate' }),
  made('byhand', { provisioner: 'kubernetes.io/no-provisioner' }),
  made('zonal', { allowedTopologies: zones }),
];
const claim = (spec: PersistentVolumeClaim['spec'] = {}): PersistentVolumeClaim => ({ metadata: { name: 'data-db-0' }, spec });

describe('a claim that a StatefulSet makes', () => {
  it.each([
    ['of the default class, which waits for the pod', {}],
    ['of a class that waits for the pod', { storageClassName: 'late' }],
  ])('leaves its pod every node when it is %s', (_, spec) => {
    expect(whyNotAnywhere(claim(spec), classes)).toBeUndefined();
  });

  it.each([
    ['binds Immediate', { storageClassName: 'fast' }, 'gets its volume before the pod is placed: class "fast" binds Immediate'],
    [
      'has no provisioner',
      { storageClassName: 'byhand' },
      'gets one of the volumes that are there: class "byhand" has none made',
    ],
    ['is ""', { storageClassName: '' }, 'has no storage class, and gets one of the volumes that are there'],
  ])('does not when its class %s', (_, spec, why) => {
    expect(whyNotAnywhere(claim(spec), classes)).toBe(`claim "data-db-0" ${why}`);
  });

  it.each([
    ['names a volume', { volumeName: 'disk-7' }, 'claim "data-db-0" is to have the volume "disk-7"'],
    [
      'has a class of certain nodes',
      { storageClassName: 'zonal' },
      'class "zonal" of claim "data-db-0" has volumes made on certain nodes only',
    ],
    [
      'has a class that is not there',
      { storageClassName: 'gone' },
      'the storage class "gone" of claim "data-db-0" does not exist',
    ],
  ])('does not when it %s', (_, spec, why) => {
    expect(whyNotAnywhere(claim(spec), classes)).toBe(why);
  });
});
