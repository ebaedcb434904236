import type { NodeNetwork } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { nodeNetworkColumns } from './columns.ts';
import { nodeNetworkFields } from './fields.ts';
import { validateNodeNetwork } from './validate.ts';

/** A kind of Berth's own: agents may read it of all nodes, and Nodes only of their own. */
export const nodeNetwork = defineKind<NodeNetwork>()({
  kind: 'NodeNetwork',
  apiVersion: 'networking.berth.io/v1',
  plural: 'nodenetworks',
  singular: 'nodenetwork',
  shortNames: [],
  namespaced: false,
  message: 'berth.networking.v1.NodeNetwork',
  service: 'berth.networking.v1.NodeNetworks',
  durability: 'synced',
  hasStatus: false,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateNodeNetwork,
  validateUpdate: () => [],
  fields: nodeNetworkFields,
  warnings: fieldWarnings('berth.networking.v1.NodeNetwork', nodeNetworkFields),
  selectableFields: {},
  columns: nodeNetworkColumns,
});
