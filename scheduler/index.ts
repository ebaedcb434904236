// The package's entry "berth/scheduler": what a plugin of yours is written with. Start at framework/plugin.ts.
export type { Node, Pod } from '../api/generated/types.ts';
export type { PortsInUse } from './cache/host-ports.ts';
export type { ImageColumn } from './cache/image-columns.ts';
export type { ColumnName, Columns, ExtendedColumns, NodeTable, SummedName } from './cache/node-table.ts';
export type { Topology } from './cache/topology/topology.ts';
export {
  type Fields,
  flag,
  list,
  number,
  type RecordOf,
  type RequiredShape,
  record,
  refine,
  required,
  type Shape,
  text,
  type ValueOf,
  whole,
  word,
} from './config/shape.ts';
export { type Audience, wordFirstPod, wordPods } from './framework/audience.ts';
export * from './framework/plugin.ts';
export {
  definePlugins,
  type PluginFactory,
  type PluginModule,
  pluginContract,
  pluginFactory,
} from './framework/plugin-module.ts';
export type { PodInfo, Resources } from './framework/pod-info.ts';
