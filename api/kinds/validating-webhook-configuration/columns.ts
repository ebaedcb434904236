import type { ValidatingWebhookConfiguration } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const validatingWebhookConfigurationColumns: readonly Column<ValidatingWebhookConfiguration>[] = [
  nameColumn,
  { name: 'WEBHOOKS', type: 'integer', priority: 0, cell: ({ webhooks = [] }) => String(webhooks.length) },
  ageColumn,
];
