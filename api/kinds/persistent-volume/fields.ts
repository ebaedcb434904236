import { type FieldSupportTable, refused, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

const noDriver = refused('no node has a driver for this kind of volume; mount it on the nodes and use local or hostPath');
const noClasses = refused('volume attributes classes do not exist; the settings of a volume do not change');

/** What Berth does with each field of a PersistentVolume. */
export const persistentVolumeFields: FieldSupportTable = {
  ...metadataFields,
  'spec.capacity': works,
  'spec.accessModes[]': works,
  'spec.claimRef': works,
  'spec.persistentVolumeReclaimPolicy': warned(
    'nothing is recycled: when its claim is gone the volume becomes Failed, with its data where it is',
    '',
    'Retain',
    'Delete',
  ),
  'spec.storageClassName': works,
  'spec.mountOptions[]': refused('a folder of the node is mounted as it is; mount it with these options on the node'),
  'spec.volumeMode': refused('volumes are mounted as folders only', '', 'Filesystem'),
  'spec.nodeAffinity': works,
  'spec.volumeAttributesClassName': noClasses,
  'spec.hostPath': works,
  'spec.local.path': works,
  'spec.local.fsType': refused('disks are not mounted; mount it on the node and name the folder'),
  'spec.gcePersistentDisk': noDriver,
  'spec.awsElasticBlockStore': noDriver,
  'spec.glusterfs': noDriver,
  'spec.nfs': noDriver,
  'spec.rbd': noDriver,
  'spec.iscsi': noDriver,
  'spec.cinder': noDriver,
  'spec.cephfs': noDriver,
  'spec.fc': noDriver,
  'spec.flocker': noDriver,
  'spec.flexVolume': noDriver,
  'spec.azureFile': noDriver,
  'spec.vsphereVolume': noDriver,
  'spec.quobyte': noDriver,
  'spec.azureDisk': noDriver,
  'spec.photonPersistentDisk': noDriver,
  'spec.portworxVolume': noDriver,
  'spec.scaleIO': noDriver,
  'spec.storageos': noDriver,
  'spec.csi': noDriver,
  status: works,
};
