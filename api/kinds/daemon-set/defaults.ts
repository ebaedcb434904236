import type { DaemonSet } from '../../generated/types.ts';
import { defaultTemplate } from '../pod-template/defaults.ts';

export function defaultDaemonSet(object: DaemonSet): void {
  object.spec ??= {};
  const { spec } = object;
  spec.revisionHistoryLimit ??= 10;
  defaultTemplate(spec.template);
  spec.updateStrategy ??= {};
  const { updateStrategy } = spec;
  updateStrategy.type ||= 'RollingUpdate';
  if (updateStrategy.type !== 'RollingUpdate') return;
  updateStrategy.rollingUpdate ??= {};
  updateStrategy.rollingUpdate.maxUnavailable ??= { type: 0, intVal: 1 };
  updateStrategy.rollingUpdate.maxSurge ??= { type: 0, intVal: 0 };
}
