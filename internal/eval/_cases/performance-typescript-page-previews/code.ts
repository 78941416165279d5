import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Request, Response } from "express";

import { documents } from "../services";

const PREVIEWS = "/var/lib/app/previews";
const MOST = 60;

interface Preview {
  id: string;
  title: string;
  image: string;
}

function ids(req: Request): string[] {
  const raw = typeof req.query.ids === "string" ? req.query.ids.split(",") : [];
  return raw.filter((id) => /^[a-z0-9]{8}$/.test(id)).slice(0, MOST);
}

/** GET /previews?ids=… */
export async function previews(req: Request, res: Response): Promise<void> {
  const out: Preview[] = [];
  for (const id of ids(req)) {
    const doc = await documents.get(id);
    const image = readFileSync(join(PREVIEWS, `${id}.webp`));
    out.push({ id, title: doc.title, image: image.toString("base64") });
  }
  res.setHeader("Cache-Control", "private, max-age=60");
  res.json(out);
}
