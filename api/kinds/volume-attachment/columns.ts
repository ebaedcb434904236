import type { VolumeAttachment } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const volumeAttachmentColumns: readonly Column<VolumeAttachment>[] = [
  nameColumn,
  textColumn('ATTACHER', ({ spec }) => spec?.attacher ?? ''),
  textColumn('PV', ({ spec }) => spec?.source?.persistentVolumeName ?? ''),
  textColumn('NODE', ({ spec }) => spec?.nodeName ?? ''),
  textColumn('ATTACHED', ({ status }) => String(status?.attached ?? false)),
  ageColumn,
];
