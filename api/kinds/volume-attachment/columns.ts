import type { VolumeAttachment } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

const text = (name: string, cell: Column<VolumeAttachment>['cell']): Column<VolumeAttachment> => ({
  name,
  type: 'string',
  priority: 0,
  cell,
});

export const volumeAttachmentColumns: readonly Column<VolumeAttachment>[] = [
  nameColumn,
  text('ATTACHER', ({ spec }) => spec?.attacher ?? ''),
  text('PV', ({ spec }) => spec?.source?.persistentVolumeName ?? ''),
  text('NODE', ({ spec }) => spec?.nodeName ?? ''),
  text('ATTACHED', ({ status }) => String(status?.attached ?? false)),
  ageColumn,
];
