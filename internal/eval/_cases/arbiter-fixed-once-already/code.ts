import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { Request, Response } from "express";

const UPLOADS = "/srv/uploads";

/** POST /upload/:name */
export async function upload(req: Request, res: Response): Promise<void> {
  const file = `${UPLOADS}/${req.params.name}`;
  await pipeline(req, createWriteStream(file));
  res.status(201).json({ file: req.params.name });
}
