import type { WebhookClientConfig } from '../../../api/generated/types.ts';
import { WebhookFailure } from './review.ts';
import type { WebhookTarget } from './webhook-client.ts';
import type { TargetOf } from './webhook-table.ts';

/** How webhooks are reached, for what is made before the server has its streams to the pods. */
export class WebhookTargets {
  #targetOf: TargetOf | undefined;

  set(targetOf: TargetOf): void {
    this.#targetOf = targetOf;
  }

  /** Throws WebhookFailure before that is known. */
  readonly of: TargetOf = (config: WebhookClientConfig): WebhookTarget => {
    if (!this.#targetOf) throw new WebhookFailure('the server is starting, and cannot reach webhooks yet');
    return this.#targetOf(config);
  };
}
