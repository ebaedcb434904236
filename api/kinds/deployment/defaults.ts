import type { Deployment, DeploymentSpec, IntOrString } from '../../generated/types.ts';
import { defaultTemplate } from '../pod-template/defaults.ts';

const quarter = (): IntOrString => ({ type: 1, strVal: '25%' });

export function defaultDeployment(object: Deployment): void {
  object.spec ??= {};
  const { spec } = object;
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  defaultStrategy(spec);
  defaultTemplate(spec.template);
}

function defaultStrategy(spec: DeploymentSpec): void {
  spec.strategy ??= {};
  const { strategy } = spec;
  strategy.type ||= 'RollingUpdate';
  if (strategy.type !== 'RollingUpdate') return;
  strategy.rollingUpdate ??= {};
  strategy.rollingUpdate.maxUnavailable ??= quarter();
  strategy.rollingUpdate.maxSurge ??= quarter();
}
