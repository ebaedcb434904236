import type { MutatingWebhookConfiguration } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const mutatingWebhookConfigurationColumns: readonly Column<MutatingWebhookConfiguration>[] = [
  nameColumn,
  { name: 'WEBHOOKS', type: 'integer', priority: 0, cell: ({ webhooks = [] }) => String(webhooks.length) },
  ageColumn,
];
