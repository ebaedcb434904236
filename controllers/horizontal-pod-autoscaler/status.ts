import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
} from '../../api/generated/types.ts';
import { setCondition } from '../../api/meta/conditions.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';

export type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited';

/** What people read of an autoscaler while it is decided about: the conditions so far, and events. */
export interface Said {
  readonly conditions: readonly HorizontalPodAutoscalerCondition[];
  readonly events: readonly SaidEvent[];
}

export interface SaidEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export class Sayings implements Said {
  conditions: readonly HorizontalPodAutoscalerCondition[];
  readonly events: SaidEvent[] = [];
  readonly #now: Date;

  constructor({ status }: HorizontalPodAutoscaler, now: Date) {
    this.conditions = status?.conditions ?? [];
    this.#now = now;
  }

  set(type: ConditionType, status: 'True' | 'False', reason: string, message: string): void {
    this.conditions = setCondition(this.conditions, { type, status, reason, message }, secondsTimestamp(this.#now));
  }

  warn(reason: string, message: string): void {
    this.events.push({ type: 'Warning', reason, message });
  }

  tell(reason: string, message: string): void {
    this.events.push({ type: 'Normal', reason, message });
  }
}

export interface StatusPlan {
  readonly status: HorizontalPodAutoscalerStatus;
  readonly events: readonly SaidEvent[];
}

const scaleMessage = "the HPA controller was unable to get the target's current scale";

/** The target is not there, or has no scale. */
export function withoutScale(hpa: HorizontalPodAutoscaler, problem: string, now: Date): StatusPlan {
  const said = new Sayings(hpa, now);
  said.warn('FailedGetScale', problem);
  said.set('AbleToScale', 'False', 'FailedGetScale', `${scaleMessage}: ${problem}`);
  return { status: { ...hpa.status, conditions: [...said.conditions] }, events: said.events };
}

export interface Rescale {
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** After the target's scale was written, or the server refused that with `problem`. */
export function afterRescale(hpa: HorizontalPodAutoscaler, { to, reason }: Rescale, now: Date, problem?: string): StatusPlan {
  const said = new Sayings(hpa, now);
  const { status = {} } = hpa;
  if (problem !== undefined) {
    said.warn('FailedRescale', `New size: ${to}; reason: ${reason}; error: ${problem}`);
    const message = `the HPA controller was unable to update the target scale: ${problem}`;
    said.set('AbleToScale', 'False', 'FailedUpdateScale', message);
    return { status: { ...status, conditions: [...said.conditions] }, events: said.events };
  }
  said.tell('SuccessfulRescale', `New size: ${to}; reason: ${reason}`);
  const message = `the HPA controller was able to update the target scale to ${to}`;
  said.set('AbleToScale', 'True', 'SucceededRescale', message);
  const conditions = [...said.conditions];
  return { status: { ...status, desiredReplicas: to, lastScaleTime: secondsTimestamp(now), conditions }, events: said.events };
}
