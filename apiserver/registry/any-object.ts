import type { ApiObject } from '../../api/kinds/kind.ts';

/** An object with the parts that the generic machinery knows by name. */
export interface AnyObject extends ApiObject {
  spec?: object;
  status?: { conditions?: { type?: string }[] };
}
